import type { RE2JS } from 're2js';
import { joinHostPort } from '../../../shared/net/address.ts';
import type { ProbeOptions, ProbeTarget } from '../probe.ts';
import type { HttpProbeSpec } from '../probe-spec.ts';
import type { ConnectionOptions } from './connection.ts';

/** Placeholder of Caddy for the upstream a check is about. */
const TARGET_PLACEHOLDER = '{http.reverse_proxy.active.target_upstream}';

/** One HTTP check, ready to be run against any address. */
export interface HttpProbeOptions extends ConnectionOptions {
  readonly method: string;
  /** Path and query, sent as they are. */
  readonly uri: string;
  readonly version: HttpProbeSpec['version'];
  /** The Host field unless `headers` has one; null = none. */
  readonly host: string | null;
  /** Alternating name and value. */
  readonly headers: readonly string[];
  readonly body: string;
  /** Codes, and 1 … 5 for classes. */
  readonly statuses: readonly number[];
  /** Searched in the body, null = any body will do. */
  readonly expectBody: RE2JS | null;
  /** 0 = the head is enough. */
  readonly maxBodyBytes: number;
  readonly followRedirects: boolean;
  /** For the whole exchange, redirects included. */
  readonly timeoutMs: number;
}

/** `target` is what is connected to; `tls` and `expectBody` are those of the check, made ready. */
export function httpProbeOptions(
  spec: HttpProbeSpec,
  { target, tls, expectBody }: Pick<HttpProbeOptions, 'tls' | 'expectBody'> & { readonly target: ProbeTarget },
  options: ProbeOptions,
): HttpProbeOptions {
  const { authority } = options;
  return {
    ...options,
    method: spec.method,
    uri: spec.uri,
    version: spec.version,
    host: hostOf(spec, target, authority),
    headers: spec.headers.map((text) => text.replaceAll(TARGET_PLACEHOLDER, authority)),
    body: spec.body,
    statuses: spec.statuses,
    expectBody,
    maxBodyBytes: spec.maxBytes,
    followRedirects: spec.followRedirects,
    tls,
    alpn: 'http/1.1',
  };
}

/** The port is left out where it is the scheme's own (RFC 9110 section 7.2). */
function hostOf({ host, tls }: HttpProbeSpec, target: ProbeTarget, authority: string): string | null {
  if (host === 'none') return null;
  if (host === 'upstream') return authority;
  if (host !== 'address') return host.name;
  const text = joinHostPort(target.host, target.port);
  return text.endsWith(tls === null ? ':80' : ':443') ? text.slice(0, text.lastIndexOf(':')) : text;
}

/** The request of one exchange as bytes to send (latin1 head, UTF-8 body). */
export function probeRequest(options: HttpProbeOptions, method: string, uri: string): Buffer {
  const given = new Set<string>();
  const own: string[] = [];
  for (let at = 0; at + 1 < options.headers.length; at += 2) {
    given.add(options.headers[at]!.toLowerCase());
    own.push(`${options.headers[at]}: ${options.headers[at + 1]}`);
  }
  const body = method === options.method ? Buffer.from(options.body, 'utf8') : Buffer.alloc(0);
  const standard: (readonly [string, string])[] = [
    ...(options.host === null ? [] : [['Host', options.host] as const]),
    ['User-Agent', 'holdfast-health'],
    ['Connection', 'close'],
  ];
  if (body.length > 0) standard.push(['Content-Length', String(body.length)]);
  const lines = standard.filter(([name]) => !given.has(name.toLowerCase())).map(([name, value]) => `${name}: ${value}`);
  const head = [`${method} ${uri} HTTP/${options.version}`, ...lines, ...own, '', ''].join('\r\n');
  return Buffer.concat([Buffer.from(head, 'latin1'), body]);
}

export function acceptsStatus(expected: readonly number[], status: number): boolean {
  return expected.some((one) => (one <= 5 ? Math.floor(status / 100) === one : status === one));
}

export function describeExpectedStatus(expected: readonly number[]): string {
  return expected.map((one) => (one <= 5 ? `${one}xx` : String(one))).join(' or ');
}
