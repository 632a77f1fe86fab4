import type { Origins } from '../context.ts';
import type { GlobalOptions } from '../global/option.ts';
import type { JsonObject } from '../json.ts';
import { failure } from '../syntax/failure.ts';
import type { Ports, ServerGroup } from './listeners.ts';
import { type ServedSite, valuesOf } from './site.ts';

/** `automatic_https` of a server, null when nothing departs from the default. */
export function automaticHttps(group: ServerGroup, options: GlobalOptions, ports: Ports): JsonObject | null {
  const json: JsonObject = {};
  if (options.autoHttps.has('off')) json['disable'] = true;
  if (options.autoHttps.has('disable_redirects')) json['disable_redirects'] = true;
  if (options.autoHttps.has('disable_certs')) json['disable_certificates'] = true;
  if (options.autoHttps.has('ignore_loaded_certs')) json['ignore_loaded_certificates'] = true;
  const skip = skippedHosts(group, ports);
  if (skip.length > 0) json['skip'] = skip;
  return Object.keys(json).length > 0 ? json : null;
}

/** Hosts written with `http://` on a port that is not the HTTP port: they get no certificate. */
function skippedHosts(group: ServerGroup, ports: Ports): string[] {
  if (group.listen.every((listen) => listen.endsWith(`:${ports.http}`))) return [];
  const plain = group.sites.flatMap(({ addresses }) => addresses).filter(({ scheme }) => scheme === 'http');
  return [...new Set(plain.map(({ host }) => host))].filter((host) => host !== '');
}

/**
 * TLS policies of a server: those of its `tls` directives, then one for everything else, so that TLS is offered
 * to every client. Where automatic HTTPS adds that one itself it is left out.
 */
export function tlsPolicies(group: ServerGroup, options: GlobalOptions, ports: Ports, origins: Origins): JsonObject[] {
  const sni = sniOptions(options);
  const policies = group.sites.flatMap((served) => policiesOf(served, sni, origins));
  const hasCatchAll = policies.some((policy) => policy['match'] === undefined);
  const addresses = group.sites.flatMap((served) => served.addresses.map((address) => ({ served, address })));
  const automatic = !options.autoHttps.has('off');
  const needsTls = addresses.some(({ served, address }) => {
    if (address.scheme !== '') return address.scheme === 'https';
    const enabled = valuesOf(served.site, 'tls').length > 0 || (address.host !== '' && automatic);
    return address.port !== String(ports.http) && enabled;
  });
  const addedAnyway =
    automatic &&
    addresses.every(({ address: { host, port } }) => {
      return port === '' || port === String(ports.https) || (port !== String(ports.http) && host !== '');
    });
  if (needsTls && !hasCatchAll && (policies.length > 0 || !addedAnyway || Object.keys(sni).length > 0)) {
    policies.push(sni);
  }
  return policies;
}

/** A policy that says nothing is left out: the one for everything else does. */
function policiesOf(served: ServedSite, sni: JsonObject, origins: Origins): JsonObject[] {
  const hosts = served.addresses.map(({ host }) => host);
  const match = hosts.includes('') ? {} : { match: { sni: hosts } };
  const telling = valuesOf(served.site, 'tls').filter(({ policy }) => Object.keys(policy).length > 0);
  return telling.map(({ policy, token }) => {
    const whole: JsonObject = Object.assign({}, match, policy, sni);
    origins.adoptFields(policy, whole);
    return origins.mark(whole, token);
  });
}

function sniOptions({ defaultSni, fallbackSni }: GlobalOptions): JsonObject {
  const json: JsonObject = {};
  if (defaultSni !== '') json['default_sni'] = defaultSni;
  if (fallbackSni !== '') json['fallback_sni'] = fallbackSni;
  return json;
}

/** One listener speaks either HTTP or HTTPS. Throws where the sites of a server disagree. */
export function checkOneProtocol(group: ServerGroup, ports: Ports): void {
  const listen = `[${group.listen.join(' ')}]`;
  let spoken: 'HTTP' | 'HTTPS' | null = null;
  for (const served of group.sites) {
    for (const address of served.addresses) {
      const wanted = protocolOf(address, served, ports);
      if (wanted === null) continue;
      if (spoken !== null && spoken !== wanted) {
        const what = `server listening on ${listen} is configured for ${spoken}`;
        const hint = address.scheme === '' && address.host === '' ? ' (try specifying https:// in the address)' : '';
        const both = 'cannot natively multiplex HTTP and HTTPS';
        throw failure(address.token, `${what} and ${both}: ${address.token.text}${hint}`);
      }
      spoken = wanted;
    }
  }
}

function protocolOf(
  { scheme, host, port }: ServedSite['addresses'][number],
  served: ServedSite,
  ports: Ports,
): 'HTTP' | 'HTTPS' | null {
  if (scheme === 'http' || port === String(ports.http)) return 'HTTP';
  const usesTls = valuesOf(served.site, 'tls').length > 0;
  if (scheme === 'https' || port === String(ports.https) || usesTls) return 'HTTPS';
  return host === '' && port !== '' ? 'HTTP' : null;
}

/** Hosts that a catch-all address of the same site hides from automatic HTTPS. */
export function hostsBesideCatchAll(groups: readonly ServerGroup[], ports: Ports): string[] {
  const hosts = groups
    .flatMap(({ sites }) => sites)
    .filter(({ addresses }) => addresses.some(({ host }) => host === ''))
    .flatMap(({ addresses }) => addresses)
    .filter(({ host, scheme, port }) => host !== '' && scheme !== 'http' && port !== String(ports.http))
    .map(({ host }) => host);
  return [...new Set(hosts)].toSorted();
}
