/** Options of an ACME issuer, as they stand in `issuer acme { … }` and, some of them, in `tls { … }`. */
import { setField, type Origins } from '../../context.ts';
import type { JsonObject } from '../../json.ts';
import { failure } from '../../syntax/failure.ts';
import { duration, flag, integer, one, some, texts } from '../../syntax/read.ts';
import type { Statement } from '../../syntax/statement.ts';

type Option = (line: Statement, issuer: JsonObject, origins: Origins) => void;

/** Caddy's options of `issuer acme`, with the JSON they stand for. */
export const ACME_OPTIONS: Readonly<Record<string, Option>> = Object.freeze({
  dir: text('ca'),
  ca: text('ca'),
  email: text('email'),
  profile: text('profile'),
  timeout: (line, issuer, origins) => setField(issuer, 'acme_timeout', duration(one(line)), line.name, origins),
  trusted_roots: (line, issuer, origins) =>
    setField(issuer, 'trusted_roots_pem_files', texts(some(line, 1)), line.name, origins),
  ca_root: (line, issuer, origins) => setField(issuer, 'trusted_roots_pem_files', [one(line).text], line.name, origins),
  eab: (line, issuer, origins) => setField(issuer, 'external_account', externalAccount(line), line.name, origins),
  disable_http_challenge: challenge('http', 'disabled'),
  disable_tlsalpn_challenge: challenge('tls-alpn', 'disabled'),
  alt_http_port: challenge('http', 'alternate_port'),
  alt_tlsalpn_port: challenge('tls-alpn', 'alternate_port'),
  dns: (line, issuer, origins) => {
    setField(dnsOf(issuer), 'provider', dnsProvider(line), line.name, origins);
    origins.mark(dnsOf(issuer), line.name);
  },
  propagation_delay: (line, issuer, origins) =>
    setField(dnsOf(issuer), 'propagation_delay', duration(one(line)), line.name, origins),
});

/** `dns hook <program>`. */
export function dnsProvider(line: Statement): JsonObject {
  const [provider, program] = some(line, 1, 2);
  if (provider!.text !== 'hook') {
    throw failure(
      provider!,
      `module not registered: dns.providers.${provider!.text}; write dns hook <program>, which is run with ` +
        'present|cleanup, a name and a value',
    );
  }
  if (program === undefined) throw failure(provider!, 'dns hook needs the path of a program');
  return { name: 'hook', program: program.text };
}

/** `<key id> <MAC key>`, or the same as a block. */
export function externalAccount(line: Statement): JsonObject {
  if (line.block === null) {
    const [id, key] = some(line, 2, 2);
    return { key_id: id!.text, mac_key: key!.text };
  }
  some({ ...line, block: null }, 0, 0);
  const json: JsonObject = {};
  for (const option of line.block) {
    if (!['key_id', 'mac_key'].includes(option.name.text))
      throw failure(option.name, `unrecognized option '${option.name.text}': write key_id and mac_key`);
    json[option.name.text] = one(option).text;
  }
  return json;
}

function text(field: string): Option {
  return (line, issuer, origins) => setField(issuer, field, one(line).text, line.name, origins);
}

function challenge(name: 'http' | 'tls-alpn', field: 'disabled' | 'alternate_port'): Option {
  return (line, issuer, origins) => {
    const json = child(child(issuer, 'challenges'), name);
    if (field === 'disabled') flag(line);
    const value = field === 'disabled' ? true : integer(one(line), 'invalid port');
    setField(json, field, value, line.name, origins);
  };
}

function dnsOf(issuer: JsonObject): JsonObject {
  return child(child(issuer, 'challenges'), 'dns');
}

function child(object: JsonObject, key: string): JsonObject {
  const known = object[key];
  if (known !== null && typeof known === 'object' && !Array.isArray(known)) return known;
  const made: JsonObject = {};
  object[key] = made;
  return made;
}
