import type { JsonObject, JsonValue } from '../../json.ts';
import { failure } from '../../syntax/failure.ts';
import { blockOf, duration, flag, one, some, texts, wrongCount } from '../../syntax/read.ts';
import type { Statement } from '../../syntax/statement.ts';

type Option = (line: Statement, transport: JsonObject) => void;

/** Any `tls_*` option turns TLS on. */
function tls(fields: (line: Statement) => Readonly<Record<string, JsonValue>>): Option {
  return (line, transport) => {
    const known = transport['tls'];
    const base =
      known !== undefined && known !== null && typeof known === 'object' && !Array.isArray(known) ? known : {};
    transport['tls'] = { ...base, ...fields(line) };
  };
}

/** The `tls…` lines of `transport http`. */
export const TLS_OPTIONS: Readonly<Record<string, Option>> = {
  tls: tls((line) => {
    flag(line);
    return {};
  }),
  tls_client_auth: tls((line): Record<string, JsonValue> => {
    const [certificate, key] = some(line, 1, 2);
    if (key === undefined) return { client_certificate_automate: certificate?.text ?? '' };
    return { client_certificate_file: certificate?.text ?? '', client_certificate_key_file: key.text };
  }),
  tls_insecure_skip_verify: tls((line) => {
    flag(line);
    return { insecure_skip_verify: true };
  }),
  tls_curves: tls((line) => ({ curves: texts(some(line, 1)) })),
  tls_timeout: tls((line) => ({ handshake_timeout: duration(one(line)) })),
  tls_trusted_ca_certs: tls((line) => ({ root_ca_pem_files: texts(some(line, 1)) })),
  tls_trust_pool: tls((line) => ({ ca: trustPool(line) })),
  tls_server_name: tls((line) => ({ server_name: one(line).text })),
  tls_renegotiation: tls((line) => {
    const token = one(line);
    if (!['never', 'once', 'freely'].includes(token.text)) {
      throw failure(token, `bad tls_renegotiation '${token.text}': write never, once or freely`);
    }
    return { renegotiation: token.text };
  }),
  tls_except_ports: tls((line) => ({ except_ports: texts(some(line, 1)) })),
};

/** `tls_trust_pool file [<pem>…] { pem_file <pem>… }`, or `tls_trust_pool inline { trust_der <base64>… }`. */
export function trustPool(line: Statement): JsonObject {
  const [provider, ...paths] = line.args;
  if (provider === undefined) throw wrongCount(line);
  if (provider.text === 'inline') return inlinePool(line);
  if (provider.text !== 'file') {
    const what = `module not registered: tls.ca_pool.source.${provider.text}`;
    throw failure(provider, `${what}; the sources are file and inline`);
  }
  const files = texts(paths);
  for (const option of blockOf(line)) {
    if (option.name.text !== 'pem_file') throw failure(option.name, `unrecognized subdirective ${option.name.text}`);
    for (const token of some(option, 1)) files.push(token.text);
  }
  if (files.length === 0) throw failure(line.name, 'no PEM files specified');
  return { provider: 'file', pem_files: files };
}

function inlinePool(line: Statement): JsonObject {
  if (line.args.length > 1) throw wrongCount(line);
  const certificates: string[] = [];
  for (const option of blockOf(line)) {
    if (option.name.text !== 'trust_der') throw failure(option.name, `unrecognized subdirective ${option.name.text}`);
    certificates.push(...texts(some(option, 1)));
  }
  if (certificates.length === 0) throw failure(line.name, 'no certificates specified');
  return { provider: 'inline', trusted_ca_certs: certificates };
}
