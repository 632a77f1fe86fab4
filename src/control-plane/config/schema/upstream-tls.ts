/** `transport.tls`: TLS to upstreams. */
import { z } from 'zod';
import { moduleOf } from './module.ts';
import {
  absent,
  accept,
  duration,
  flag,
  list,
  notYet,
  object,
  oneOf,
  only,
  orNull,
  text,
  textLike,
} from './primitives.ts';

const HOUR_MS = 3_600_000;
const MAX_PORT = 65_535;

export interface UpstreamTlsConfig {
  readonly insecure_skip_verify: boolean;
  /** '' = the host of each upstream. */
  readonly server_name: string;
  /** null = what the system trusts. */
  readonly ca: TrustPoolConfig | null;
  readonly root_ca_pem_files: readonly string[];
  /** Base64 of DER. */
  readonly root_ca_pool: readonly string[];
  /** '' = none. */
  readonly client_certificate_file: string;
  readonly client_certificate_key_file: string;
  /** Milliseconds, 0 = together with the dial. */
  readonly handshake_timeout: number;
  readonly curves: readonly Curve[];
  /** Ports that are spoken to in the clear. */
  readonly except_ports: readonly number[];
}

type TrustPoolConfig =
  | { readonly provider: 'file'; readonly pem_files: readonly string[] }
  /** Base64 of DER. */
  | { readonly provider: 'inline'; readonly trusted_ca_certs: readonly string[] };

export type Curve = 'x25519' | 'x25519mlkem768' | 'secp256r1' | 'secp384r1' | 'secp521r1';

const path = textLike(/^[^\0]+$/, 'the path of a PEM file');
const base64 = textLike(/^[A-Za-z0-9+/\s]+={0,2}\s*$/, 'a certificate in base64 (DER)');

const trustPool = moduleOf<TrustPoolConfig>({
  key: 'provider',
  noun: 'trust pool',
  modules: () => ({
    file: object({ provider: z.literal('file'), pem_files: list(path) }),
    inline: object({ provider: z.literal('inline'), trusted_ca_certs: list(base64) }),
  }),
  notYet: ['pki_root', 'pki_intermediate', 'storage', 'http', 'combined', 'system'],
});

const serverName = accept('a host name or an IP address', (value) => {
  return typeof value === 'string' && /^[A-Za-z0-9._:-]*$/.test(value) ? value : undefined;
});

/** Caddy writes them as texts. */
const port = accept(`a port from 1 to ${MAX_PORT}`, (value) => {
  const number = typeof value === 'string' && /^\d{1,5}$/.test(value) ? Number(value) : value;
  return typeof number === 'number' && Number.isInteger(number) && number > 0 && number <= MAX_PORT
    ? number
    : undefined;
});

export const upstreamTls: z.ZodType<UpstreamTlsConfig> = object({
  insecure_skip_verify: flag().default(false),
  server_name: serverName.default(''),
  ca: orNull(trustPool),
  root_ca_pem_files: list(path).default([]),
  root_ca_pool: list(base64).default([]),
  client_certificate_file: text().default(''),
  client_certificate_key_file: text().default(''),
  client_certificate_automate: notYet('tls_client_auth with an automated certificate'),
  handshake_timeout: duration(0, HOUR_MS).default(0),
  curves: list(oneOf(['x25519', 'x25519mlkem768', 'secp256r1', 'secp384r1', 'secp521r1'])).default([]),
  except_ports: list(port).default([]),
  renegotiation: only(['never'], 'tls_renegotiation once|freely'),
  encrypted_client_hello: absent("'encrypted_client_hello' is not supported yet"),
});
