/** What `tls` says of how certificates are had and kept. */
import { setField } from '../../context.ts';
import { failure } from '../../syntax/failure.ts';
import { flag, one } from '../../syntax/read.ts';
import type { Statement } from '../../syntax/statement.ts';
import type { TlsDraft } from './draft.ts';

/** `on_demand`: a certificate is had when a client first asks for the name. */
export function onDemand(line: Statement, { automation, origins }: TlsDraft): void {
  flag(line);
  setField(automation, 'on_demand', true, line.name, origins);
}

/** `key_type p256|p384|rsa2048|rsa4096`. */
export function keyType(line: Statement, { automation, origins }: TlsDraft): void {
  setField(automation, 'key_type', one(line).text, line.name, origins);
}

/** `renewal_window_ratio <share>`: of a life, left when a certificate is renewed. */
export function renewalWindowRatio(line: Statement, { automation, origins }: TlsDraft): void {
  const token = one(line);
  const share = Number(token.text);
  if (!(share > 0 && share < 1)) throw failure(token, 'renewal_window_ratio must be between 0 and 1 (exclusive)');
  setField(automation, 'renewal_window_ratio', share, line.name, origins);
}
