import { PROXY_TLV_WORDS } from '../../config/schema/layer4/proxy-tlv.ts';
import { setField, type Origins } from '../context.ts';
import type { JsonObject } from '../json.ts';
import { failure } from '../syntax/failure.ts';
import { blockOf, flag, oneWithBlock, some } from '../syntax/read.ts';
import type { Statement } from '../syntax/statement.ts';
import type { Token } from '../syntax/token.ts';
import { knownHint } from '../unknown-word.ts';

const WORDS: readonly string[] = [...PROXY_TLV_WORDS, 'tlv'];

/** `proxy_protocol v1|v2 { crc32c; authority; unique_id; tlv <type> <value> }`. */
export function parseProxyHeader(line: Statement, fields: JsonObject, origins: Origins): void {
  setField(fields, 'proxy_protocol', oneWithBlock(line).text, line.name, origins);
  const tlvs = blockOf(line).map((option) => origins.mark(parseTlv(option), option.name));
  if (tlvs.length > 0) setField(fields, 'proxy_tlvs', tlvs, line.name, origins);
}

function parseTlv(option: Statement): JsonObject {
  const { text } = option.name;
  if (text === 'tlv') {
    const [type, value] = some(option, 2, 2);
    return { type: readType(type!), value: value!.text };
  }
  if (!WORDS.includes(text)) {
    throw failure(option.name, `unrecognized proxy_protocol option '${text}'${knownHint(text, WORDS)}`);
  }
  flag(option);
  return { type: text };
}

/** Decimal, or hexadecimal with 0x. */
function readType(token: Token): number {
  if (!/^(?:0x[0-9a-f]{1,2}|[0-9]{1,3})$/i.test(token.text)) {
    throw failure(token, `bad type '${token.text}': write a number from 1 to 255, like 0xe1`);
  }
  return Number(token.text);
}
