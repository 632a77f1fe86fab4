import { setField } from '../../context.ts';
import type { JsonObject, JsonValue } from '../../json.ts';
import { failure } from '../../syntax/failure.ts';
import { blockOf, one, wrongCount } from '../../syntax/read.ts';
import type { Statement } from '../../syntax/statement.ts';
import { nearestHint } from '../../unknown-word.ts';
import { trustPool } from '../reverse-proxy/transport-tls.ts';
import type { TlsDraft } from './draft.ts';
import { leafVerifier, verifier } from './leaf-verifier.ts';

const MODES: readonly string[] = Object.freeze(['request', 'require', 'verify_if_given', 'require_and_verify']);
const WORDS: readonly string[] = Object.freeze([
  'mode',
  'trust_pool',
  'trusted_ca_cert',
  'trusted_ca_cert_file',
  'trusted_leaf_cert',
  'trusted_leaf_cert_file',
  'verifier',
]);

/**
 * `client_auth { mode … · trust_pool … · trusted_ca_cert <base64> · trusted_ca_cert_file <pem> · trusted_leaf_cert <base64> ·
 * trusted_leaf_cert_file <pem> · verifier leaf … }`.
 */
export function clientAuth(line: Statement, { policy, origins }: TlsDraft): void {
  if (line.args.length > 0) throw wrongCount(line);
  const json: JsonObject = origins.mark({}, line.name);
  for (const option of blockOf(line)) readOption(option, json, origins);
  setField(policy, 'client_authentication', json, line.name, origins);
}

function readOption(option: Statement, json: JsonObject, origins: TlsDraft['origins']): void {
  const { text } = option.name;
  const append = (field: string, value: JsonValue): void => {
    const known = json[field];
    setField(json, field, [...(Array.isArray(known) ? known : []), value], option.name, origins);
  };
  switch (text) {
    case 'mode': {
      const mode = one(option);
      if (!MODES.includes(mode.text))
        throw failure(mode, `unknown mode '${mode.text}': write one of ${MODES.join(', ')}`);
      return setField(json, 'mode', mode.text, mode, origins);
    }
    case 'trust_pool':
      return setField(json, 'ca', trustPool(option), option.name, origins);
    case 'trusted_ca_cert':
      return append('trusted_ca_certs', one(option).text);
    case 'trusted_leaf_cert':
      return append('trusted_leaf_certs', one(option).text);
    case 'trusted_leaf_cert_file':
      return append('verifiers', leafVerifier([{ loader: 'file', files: [one(option).text] }]));
    case 'verifier':
      return append('verifiers', verifier(option));
    case 'trusted_ca_cert_file':
      return append('trusted_ca_certs_pem_files', one(option).text);
    default:
      throw failure(option.name, `unknown subdirective for client_auth: ${text}${nearestHint(text, WORDS)}`);
  }
}
