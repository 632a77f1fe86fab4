import { setField } from '../../context.ts';
import type { JsonObject } from '../../json.ts';
import { failure } from '../../syntax/failure.ts';
import { blockOf, duration, flag, one, oneWithBlock } from '../../syntax/read.ts';
import type { Statement } from '../../syntax/statement.ts';
import { nearestHint } from '../../unknown-word.ts';
import type { TlsDraft } from './draft.ts';

const OPTIONS: readonly string[] = Object.freeze(['ca', 'lifetime', 'sign_with_root']);

/** `issuer internal { ca <name> · lifetime <duration> · sign_with_root }`. */
export function issuer(line: Statement, { issuers, origins }: TlsDraft): void {
  const module = oneWithBlock(line);
  if (module.text === 'acme' || module.text === 'zerossl') {
    throw failure(module, `'issuer ${module.text}' is not supported yet`);
  }
  if (module.text !== 'internal') {
    throw failure(module, `module not registered: tls.issuance.${module.text}; the issuer is internal`);
  }
  const json: JsonObject = {};
  for (const option of blockOf(line)) {
    const { text } = option.name;
    if (text === 'ca') setField(json, 'ca', one(option).text, option.name, origins);
    else if (text === 'lifetime') setField(json, 'lifetime', duration(one(option)), option.name, origins);
    else if (text === 'sign_with_root') {
      flag(option);
      setField(json, 'sign_with_root', true, option.name, origins);
    } else throw failure(option.name, `unrecognized subdirective '${text}'${nearestHint(text, OPTIONS)}`);
  }
  json['module'] = 'internal';
  issuers.push(origins.mark(json, line.name));
}
