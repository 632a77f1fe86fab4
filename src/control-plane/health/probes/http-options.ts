import type { RE2JS } from 're2js';
import { localProxyHeader } from '../../../shared/net/proxy-header.ts';
import type { CheckSpec } from '../../compile/compiled.ts';

const DEFAULT_MAX_BODY_BYTES = 1_048_576;
/** Placeholder of Caddy for the upstream a check is about. */
const TARGET_PLACEHOLDER = '{http.reverse_proxy.active.target_upstream}';

/** One HTTP check, ready to be run against any address. */
export interface HttpProbeOptions {
  readonly method: string;
  /** Path and query, sent as they are. */
  readonly uri: string;
  /** `host:port` of the upstream as configured: the Host field unless `headers` has one. */
  readonly authority: string;
  /** Alternating name and value. */
  readonly headers: readonly string[];
  readonly body: string;
  /** 0 = any 2xx; 1…5 = that class; else that code. */
  readonly expectStatus: number;
  /** Searched in the body, null = any body will do. */
  readonly expectBody: RE2JS | null;
  readonly maxBodyBytes: number;
  readonly followRedirects: boolean;
  /** Goes in front of each request; latin1, '' = nothing. */
  readonly preface: string;
  /** IP address it is made from; absent = any. */
  readonly localAddress?: string;
  /** For the whole exchange, redirects included. */
  readonly timeoutMs: number;
}

/** `authority` is `host:port` of what is checked, as configured; `expectBody` the pattern of the check, compiled. */
export function httpProbeOptions(check: CheckSpec, authority: string, expectBody: RE2JS | null): HttpProbeOptions {
  return {
    method: check.method,
    uri: check.uri,
    authority,
    headers: check.headers.map((text) => text.replaceAll(TARGET_PLACEHOLDER, authority)),
    body: check.body,
    expectStatus: check.expectStatus,
    expectBody,
    maxBodyBytes: check.maxBytes === 0 ? DEFAULT_MAX_BODY_BYTES : check.maxBytes,
    followRedirects: check.followRedirects,
    preface: check.proxyProtocol === undefined ? '' : localProxyHeader(check.proxyProtocol),
    timeoutMs: check.timeoutMs,
    ...(check.localAddress === undefined ? {} : { localAddress: check.localAddress }),
  };
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
    ['Host', options.authority],
    ['User-Agent', 'holdfast-health'],
    ['Connection', 'close'],
  ];
  if (body.length > 0) standard.push(['Content-Length', String(body.length)]);
  const lines = standard.filter(([name]) => !given.has(name.toLowerCase())).map(([name, value]) => `${name}: ${value}`);
  const head = [`${method} ${uri} HTTP/1.1`, ...lines, ...own, '', ''].join('\r\n');
  return Buffer.concat([Buffer.from(options.preface + head, 'latin1'), body]);
}

export function acceptsStatus(expected: number, status: number): boolean {
  if (expected === 0) return status >= 200 && status <= 299;
  return expected <= 5 ? Math.floor(status / 100) === expected : status === expected;
}

export function describeExpectedStatus(expected: number): string {
  if (expected === 0) return '2xx';
  return expected <= 5 ? `${expected}xx` : String(expected);
}
