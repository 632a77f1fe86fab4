import { X509Certificate } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { rootPath } from '../../control-plane/certificates/authority.ts';
import { CliError } from '../failure.ts';

export interface RootCertificate {
  readonly path: string;
  readonly authority: string;
  readonly pem: string;
  readonly subject: string;
  /** SHA-256, hex with colons. */
  readonly fingerprint: string;
  readonly validTo: string;
}

/** Throws a `CliError` when the authority has not made its root yet. */
export function readRoot(dataFolder: string, authority: string): RootCertificate {
  if (!/^[A-Za-z0-9_-]{1,64}$/.test(authority)) throw new CliError(`'${authority}' is no name of an authority`, 2);
  const path = rootPath(dataFolder, authority);
  let pem: string;
  try {
    pem = readFileSync(path, 'utf8');
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? String(error.code) : '';
    if (code !== 'ENOENT') throw new CliError(`cannot read ${path} (${code}): run this as the user that runs holdfast`);
    throw new CliError(
      `there is no ${path}: it is made when a config with a local name, or tls internal, is first run`,
    );
  }
  const { subject, fingerprint256: fingerprint, validTo } = new X509Certificate(pem);
  return { path, authority, pem, subject, fingerprint, validTo };
}
