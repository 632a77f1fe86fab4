/** Requests and plans for tests of routing. */
import { fieldKind } from '../../src/data-plane/http1/field-kinds.ts';
import { FIELD_OTHER, Head } from '../../src/data-plane/http1/head.ts';
import type { RequestView } from '../../src/data-plane/route/request-view.ts';
import { hostOfAuthority } from '../../src/data-plane/route/target.ts';
import { parseIp } from '../../src/shared/net/ip.ts';
import type {
  HandlerPlan,
  HeaderOpsPlan,
  MatcherPlan,
  ResponseHeaderOpsPlan,
  RewritePlan,
  RoutePlan,
  SiteSection,
  StaticResponsePlan,
} from '../../src/shared/plan/types.ts';

export interface RequestFacts {
  readonly method?: string;
  readonly target?: string;
  readonly host?: string;
  /** Field lines besides Host, alternating names and values; any bytes. */
  readonly fields?: readonly string[];
  readonly version?: 10 | 11;
  readonly scheme?: 'http' | 'https';
  readonly peer?: string;
  readonly client?: string;
  readonly trusted?: boolean;
  readonly proxyValues?: Readonly<Record<string, string>>;
}

/** A request as it would look after the codec, without the codec's checks: tests also want what it refuses. */
export function requestOf(facts: RequestFacts = {}): RequestView {
  const { method = 'GET', target = '/', host = 'example.com', scheme = 'http', trusted = false } = facts;
  const proxyValues = new Map(Object.entries(facts.proxyValues ?? {}));
  const lines = host === '' ? (facts.fields ?? []) : ['Host', host, ...(facts.fields ?? [])];
  const head = headOf(lines);
  head.method = method;
  head.target = target;
  head.originForm = target;
  head.authority = host;
  head.version = facts.version ?? 11;
  return {
    head,
    method,
    target,
    host: hostOfAuthority(host),
    hostport: host,
    scheme,
    peer: parseIp(facts.peer ?? '192.0.2.1'),
    peerPort: 50_000,
    localAddress: '127.0.0.1',
    localPort: 8080,
    client: parseIp(facts.client ?? '203.0.113.9'),
    trusted,
    vars: new Map(),
    notes: null,
    proxyValue: (name) => proxyValues.get(name),
    wallMs: Date.UTC(2026, 10, 30, 9, 13, 27, 5),
    uuid: () => '00000000-0000-4000-8000-000000000000',
  };
}

function headOf(lines: readonly string[]): Head {
  const head = new Head();
  for (let at = 0; at < lines.length; at += 2) {
    const nameStart = head.text.length;
    head.text += `${lines[at]!}: `;
    const nameEnd = head.text.length - 2;
    const valueStart = head.text.length;
    head.text += lines[at + 1]!;
    head.offsets.push(nameStart, nameEnd, valueStart, head.text.length);
    head.text += '\r\n';
    const kind = fieldKind(head.text, nameStart, nameEnd);
    if (kind !== FIELD_OTHER && head.first[kind]! < 0) head.first[kind] = head.count;
    head.kinds.push(kind);
    head.count += 1;
  }
  return head;
}

export function headerOps(ops: Partial<HeaderOpsPlan> = {}): HeaderOpsPlan {
  return { add: [], set: [], delete: [], replace: [], ...ops };
}

export function responseOps(ops: Partial<ResponseHeaderOpsPlan> = {}): ResponseHeaderOpsPlan {
  return { ...headerOps(), deferred: false, require: null, ...ops };
}

export function respond(body: string, rest: Partial<StaticResponsePlan> = {}): StaticResponsePlan {
  return { handler: 'static_response', statusCode: '200', headers: {}, body, close: false, abort: false, ...rest };
}

export function rewrite(rest: Partial<RewritePlan>): RewritePlan {
  return {
    handler: 'rewrite',
    method: '',
    uri: '',
    stripPathPrefix: '',
    stripPathSuffix: '',
    uriSubstring: [],
    pathRegexp: [],
    ...rest,
  };
}

export function proxyTo(pool: string): HandlerPlan {
  return {
    handler: 'reverse_proxy',
    pool,
    trustedProxies: [],
    retryMatch: [],
    requestBufferBytes: 0,
    headersUp: null,
    headersDown: null,
    handleResponse: [],
  };
}

/** A route with one matcher set, or none. */
export function routeOf(
  match: readonly MatcherPlan[],
  handle: readonly HandlerPlan[],
  rest: Partial<RoutePlan> = {},
): RoutePlan {
  return { match: match.length === 0 ? [] : [match], handle, group: '', terminal: false, ...rest };
}

export function siteOf(route: RoutePlan): SiteSection {
  return { kind: 'site', hash: '', route, pools: [] };
}
