/** `apps.tls` and `apps.pki`: certificates of `tls` directives, who issues the others, and authorities of our own. */
import { ZERO_SSL } from '../../config/schema/acme-issuer.ts';
import type { Origins, SiteValue } from '../context.ts';
import type { GlobalOptions } from '../global/option.ts';
import type { JsonObject } from '../json.ts';
import type { Token } from '../syntax/token.ts';
import { hostsBesideCatchAll } from './automatic-https.ts';
import type { Ports, ServerGroup } from './listeners.ts';
import { type ServedSite, valuesOf } from './site.ts';

type TlsValue = Extract<SiteValue, { kind: 'tls' }>;

/** null when there is nothing to say. */
export function tlsApp(
  groups: readonly ServerGroup[],
  options: GlobalOptions,
  ports: Ports,
  origins: Origins,
): JsonObject | null {
  const served = groups.flatMap(({ sites }) => sites);
  const values = [...new Set(served.flatMap(({ site }) => valuesOf(site, 'tls')))];
  const certificates = loadedCertificates(values);
  const hidden = options.autoHttps.has('off') ? [] : hostsBesideCatchAll(groups, ports);
  if (hidden.length > 0) certificates['automate'] = hidden;
  const policies = automationPolicies(served, options, origins);
  const automation: JsonObject = policies.length > 0 ? { ...options.automation, policies } : { ...options.automation };
  const json: JsonObject = {};
  if (Object.keys(certificates).length > 0) json['certificates'] = certificates;
  if (Object.keys(automation).length > 0) json['automation'] = automation;
  return Object.keys(json).length > 0 ? json : null;
}

export function pkiApp({ authorities }: GlobalOptions): JsonObject | null {
  return authorities.size === 0 ? null : { certificate_authorities: Object.fromEntries(authorities) };
}

function loadedCertificates(values: readonly TlsValue[]): JsonObject {
  const json: JsonObject = {};
  const files = values.flatMap((value) => value.files);
  const folders = [...new Set(values.flatMap((value) => value.folders))];
  if (files.length > 0) json['load_files'] = files;
  if (folders.length > 0) json['load_folders'] = folders;
  return json;
}

/** Sites with the same options share a policy. A site for every host has one without names, which comes last. */
function automationPolicies(served: readonly ServedSite[], options: GlobalOptions, origins: Origins): JsonObject[] {
  const named = new Map<
    string,
    { readonly fields: JsonObject; readonly subjects: Set<string>; readonly token: Token }
  >();
  const forAll: JsonObject[] = [];
  const base = basePolicy(options, origins);
  for (const { site, addresses } of served) {
    const own = ownPolicy(valuesOf(site, 'tls'), options, origins);
    if (own === null) continue;
    const fields = { ...base, ...own };
    const [{ token }] = valuesOf(site, 'tls') as [TlsValue];
    const hosts = addresses.map(({ host }) => host).filter((host) => host !== '');
    if (hosts.length < addresses.length) forAll.push(origins.mark({ ...fields }, token));
    if (hosts.length === 0) continue;
    const key = JSON.stringify(fields);
    const known = named.get(key);
    if (known === undefined) named.set(key, { fields, subjects: new Set(hosts), token });
    else for (const host of hosts) known.subjects.add(host);
  }
  const policies: JsonObject[] = [...named.values()].map(({ fields, subjects, token }) =>
    origins.mark({ subjects: [...subjects], ...fields }, token),
  );
  const [catchAll] = forAll;
  if (catchAll !== undefined) policies.push(catchAll);
  else if (Object.keys(base).length > 0) policies.push(base);
  return policies;
}

/** null when the site says nothing about certificates that are issued. */
function ownPolicy(values: readonly TlsValue[], options: GlobalOptions, origins: Origins): JsonObject | null {
  const written = values.flatMap(({ issuers }) => issuers);
  const implicit = values.map(({ acme }) => acme).find((found) => found !== null);
  const fields: JsonObject = Object.assign({}, ...values.map(({ automation }) => automation));
  const issuers =
    implicit === undefined
      ? written.map((issuer) => withGlobals(issuer, options, origins))
      : defaultIssuers(implicit, options, origins);
  if (issuers.length === 0) return Object.keys(fields).length > 0 ? fields : null;
  return { issuers, ...fields };
}

/** Of names whose site says nothing; empty = as it comes. */
function basePolicy(options: GlobalOptions, origins: Origins): JsonObject {
  const { localCerts, issuers, acme, policy } = options;
  if (localCerts) return { issuers: [{ module: 'internal' }], ...policy };
  if (issuers.length > 0) return { issuers: issuers.map((issuer) => withGlobals(issuer, options, origins)), ...policy };
  return Object.keys(acme).length > 0 ? { issuers: defaultIssuers({}, options, origins), ...policy } : { ...policy };
}

/** An authority that was named stands alone; else a second one is there for those who said how to reach them. */
function defaultIssuers(own: JsonObject, options: GlobalOptions, origins: Origins): JsonObject[] {
  const first = withGlobals(origins.copy({ ...own, module: 'acme' }), options, origins);
  origins.adoptFields(own, first);
  if (first['email'] === undefined || first['ca'] !== undefined || first['external_account'] !== undefined)
    return [first];
  return [first, { ...first, ca: ZERO_SSL }];
}

/** An ACME issuer says what the global options say, unless it says otherwise. */
function withGlobals(issuer: JsonObject, { acme }: GlobalOptions, origins: Origins): JsonObject {
  if (issuer['module'] !== 'acme') return issuer;
  const { external_account: account, ...rest } = acme;
  const whole: JsonObject = Object.assign(origins.copy(issuer), rest, issuer);
  origins.adoptFields(acme, whole);
  origins.adoptFields(issuer, whole);
  // A binding is worth something only at the authority it is from.
  if (account !== undefined && whole['ca'] === acme['ca'] && issuer['external_account'] === undefined) {
    whole['external_account'] = account;
  }
  return whole;
}
