/** `apps.tls` and `apps.pki`: certificates of `tls` directives, who issues the others, and authorities of our own. */
import type { SiteValue } from '../context.ts';
import type { GlobalOptions } from '../global/option.ts';
import type { JsonObject } from '../json.ts';
import { hostsBesideCatchAll } from './automatic-https.ts';
import type { Ports, ServerGroup } from './listeners.ts';
import { type ServedSite, valuesOf } from './site.ts';

type TlsValue = Extract<SiteValue, { kind: 'tls' }>;

/** null when there is nothing to say. */
export function tlsApp(groups: readonly ServerGroup[], options: GlobalOptions, ports: Ports): JsonObject | null {
  const served = groups.flatMap(({ sites }) => sites);
  const values = [...new Set(served.flatMap(({ site }) => valuesOf(site, 'tls')))];
  const certificates = loadedCertificates(values);
  const hidden = options.autoHttps.has('off') ? [] : hostsBesideCatchAll(groups, ports);
  if (hidden.length > 0) certificates['automate'] = hidden;
  const policies = automationPolicies(served, options);
  const json: JsonObject = {};
  if (Object.keys(certificates).length > 0) json['certificates'] = certificates;
  if (policies.length > 0) json['automation'] = { policies };
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

/** Sites with the same issuers share a policy. A site for every host has one without names, which comes last. */
function automationPolicies(served: readonly ServedSite[], { localCerts }: GlobalOptions): JsonObject[] {
  const named = new Map<string, { readonly issuers: JsonObject[]; readonly subjects: Set<string> }>();
  const forAll: JsonObject[] = [];
  for (const { site, addresses } of served) {
    const issuers = valuesOf(site, 'tls').flatMap((value) => value.issuers);
    if (issuers.length === 0) continue;
    const hosts = addresses.map(({ host }) => host).filter((host) => host !== '');
    if (hosts.length < addresses.length) forAll.push({ issuers });
    if (hosts.length === 0) continue;
    const key = JSON.stringify(issuers);
    const known = named.get(key);
    if (known === undefined) named.set(key, { issuers, subjects: new Set(hosts) });
    else for (const host of hosts) known.subjects.add(host);
  }
  const policies: JsonObject[] = [...named.values()].map(({ issuers, subjects }) => ({
    subjects: [...subjects],
    issuers,
  }));
  const [catchAll] = forAll;
  if (catchAll !== undefined) policies.push(catchAll);
  else if (localCerts) policies.push({ issuers: [{ module: 'internal' }] });
  return policies;
}
