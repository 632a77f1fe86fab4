import { setField } from '../../context.ts';
import { failure } from '../../syntax/failure.ts';
import { some, texts } from '../../syntax/read.ts';
import type { Statement } from '../../syntax/statement.ts';
import type { TlsDraft } from './draft.ts';

/** `protocols <min> [<max>]`. */
export function protocols(line: Statement, { policy, origins }: TlsDraft): void {
  const [min, max] = some(line, 1, 2);
  for (const token of [min, max]) {
    if (token === undefined || ['tls1.2', 'tls1.3'].includes(token.text)) continue;
    throw failure(token, `wrong protocol name or protocol not supported: '${token.text}'; write tls1.2 or tls1.3`);
  }
  setField(policy, 'protocol_min', min!.text, min!, origins);
  if (max !== undefined) setField(policy, 'protocol_max', max.text, max, origins);
}

/** `ciphers <suite>…`: of TLS 1.2, by IANA's names. */
export function ciphers(line: Statement, { policy, origins }: TlsDraft): void {
  setField(policy, 'cipher_suites', texts(some(line, 1)), line.name, origins);
}

/** `curves <group>…`. */
export function curves(line: Statement, { policy, origins }: TlsDraft): void {
  setField(policy, 'curves', texts(some(line, 1)), line.name, origins);
}

/** `alpn <protocol>…`. */
export function alpn(line: Statement, { policy, origins }: TlsDraft): void {
  setField(policy, 'alpn', texts(some(line, 1)), line.name, origins);
}

/** `load <folder>…`: every .pem file in it, certificate and key together. */
export function load(line: Statement, { folders }: TlsDraft): void {
  folders.push(...texts(some(line, 1)));
}
