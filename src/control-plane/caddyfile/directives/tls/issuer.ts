import { setField, type Origins } from '../../context.ts';
import type { JsonObject } from '../../json.ts';
import { failure } from '../../syntax/failure.ts';
import { blockOf, duration, flag, one, some } from '../../syntax/read.ts';
import type { Statement } from '../../syntax/statement.ts';
import type { Token } from '../../syntax/token.ts';
import { nearestHint } from '../../unknown-word.ts';
import { ACME_OPTIONS } from './acme-options.ts';
import type { TlsDraft } from './draft.ts';

const INTERNAL_OPTIONS: readonly string[] = Object.freeze(['ca', 'lifetime', 'sign_with_root']);
/** Options of Caddy's that are not here. */
const NOT_YET: readonly string[] = Object.freeze([
  'dns_challenge_override_domain',
  'dns_ttl',
  'not_after',
  'not_before',
  'preferred_chains',
  'propagation_timeout',
  'resolvers',
  'test_dir',
]);

/** `issuer internal|acme [<directory> [<email>]] { … }`; several are tried in turn. */
export function issuer(line: Statement, { issuers, origins }: TlsDraft): void {
  issuers.push(readIssuer(line, origins));
}

/** The same words stand in the global option `cert_issuer`. */
export function readIssuer(line: Statement, origins: Origins): JsonObject {
  const [module, ...rest] = some({ ...line, block: null }, 1, 3);
  switch (module!.text) {
    case 'internal':
      if (rest.length > 0) throw failure(rest[0]!, `wrong argument count or unexpected line ending after 'internal'`);
      return readInternal(line, origins);
    case 'acme':
      return readAcme(line, rest, origins);
    case 'zerossl':
      throw failure(
        module!,
        "'issuer zerossl' is not supported yet: write issuer acme https://acme.zerossl.com/v2/DV90 with an email or eab",
      );
    default:
      throw failure(module!, `module not registered: tls.issuance.${module!.text}; issuers are internal and acme`);
  }
}

function readAcme(line: Statement, [directory, email]: readonly Token[], origins: Origins): JsonObject {
  const json: JsonObject = {};
  if (directory !== undefined) setField(json, 'ca', directory.text, directory, origins);
  if (email !== undefined) setField(json, 'email', email.text, email, origins);
  for (const option of blockOf(line)) {
    const { text } = option.name;
    if (NOT_YET.includes(text)) throw failure(option.name, `'${text}' of issuer acme is not supported yet`);
    const read = Object.hasOwn(ACME_OPTIONS, text) ? ACME_OPTIONS[text] : undefined;
    if (read === undefined) {
      throw failure(option.name, `unrecognized subdirective '${text}'${nearestHint(text, Object.keys(ACME_OPTIONS))}`);
    }
    read(option, json, origins);
  }
  json['module'] = 'acme';
  return origins.mark(json, line.name);
}

function readInternal(line: Statement, origins: Origins): JsonObject {
  const json: JsonObject = {};
  for (const option of blockOf(line)) {
    const { text } = option.name;
    if (text === 'ca') setField(json, 'ca', one(option).text, option.name, origins);
    else if (text === 'lifetime') setField(json, 'lifetime', duration(one(option)), option.name, origins);
    else if (text === 'sign_with_root') {
      flag(option);
      setField(json, 'sign_with_root', true, option.name, origins);
    } else throw failure(option.name, `unrecognized subdirective '${text}'${nearestHint(text, INTERNAL_OPTIONS)}`);
  }
  json['module'] = 'internal';
  return origins.mark(json, line.name);
}
