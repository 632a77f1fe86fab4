import { setField } from '../../context.ts';
import type { JsonObject } from '../../json.ts';
import { failure } from '../../syntax/failure.ts';
import { blockOf, one, wrongCount } from '../../syntax/read.ts';
import type { Statement } from '../../syntax/statement.ts';
import { nearestHint } from '../../unknown-word.ts';
import { trustPool } from '../reverse-proxy/transport-tls.ts';
import type { TlsDraft } from './draft.ts';

const MODES: readonly string[] = Object.freeze(['request', 'require', 'verify_if_given', 'require_and_verify']);
const NOT_YET: readonly string[] = Object.freeze(['trusted_leaf_cert', 'trusted_leaf_cert_file', 'verifier']);
const WORDS: readonly string[] = Object.freeze(['mode', 'trust_pool', 'trusted_ca_cert', 'trusted_ca_cert_file']);

/** `client_auth { mode … · trust_pool … · trusted_ca_cert <base64> · trusted_ca_cert_file <pem> }`. */
export function clientAuth(line: Statement, { policy, origins }: TlsDraft): void {
  if (line.args.length > 0) throw wrongCount(line);
  const json: JsonObject = origins.mark({}, line.name);
  for (const option of blockOf(line)) readOption(option, json, origins);
  setField(policy, 'client_authentication', json, line.name, origins);
}

function readOption(option: Statement, json: JsonObject, origins: TlsDraft['origins']): void {
  const { text } = option.name;
  const append = (field: string): void => {
    const known = json[field];
    setField(json, field, [...(Array.isArray(known) ? known : []), one(option).text], option.name, origins);
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
      return append('trusted_ca_certs');
    case 'trusted_ca_cert_file':
      return append('trusted_ca_certs_pem_files');
    default:
      if (NOT_YET.includes(text)) throw failure(option.name, `'${text}' is not supported yet`);
      throw failure(option.name, `unknown subdirective for client_auth: ${text}${nearestHint(text, WORDS)}`);
  }
}
