import type { JsonObject } from '../../json.ts';
import { failure } from '../../syntax/failure.ts';
import { some } from '../../syntax/read.ts';
import type { Token } from '../../syntax/token.ts';
import { setUpstreamOptions } from './upstream-options.ts';
import type { ProxyDraft, SubdirectiveTable } from './draft.ts';

type Scheme = ProxyDraft['scheme'];

interface UpstreamAddress {
  readonly scheme: Scheme;
  readonly dials: readonly string[];
}

const DEFAULT_PORTS: Readonly<Record<Scheme, string>> = { '': '80', http: '80', h2c: '80', https: '443' };
/** Ports that contradict the scheme. */
const WRONG_PORTS: Readonly<Record<Scheme, string>> = { '': '', http: '443', h2c: '443', https: '80' };
const MAX_RANGE = 65_535;

export const UPSTREAM_SUBDIRECTIVES: SubdirectiveTable = {
  to: (line, draft) => {
    const before = draft.upstreams.length;
    addUpstreams(some({ ...line, block: null }, 1), draft);
    setUpstreamOptions(line, draft.upstreams.slice(before), draft);
  },
};

/** Adds one upstream for each address, and for each port of a port range. */
export function addUpstreams(tokens: readonly Token[], draft: ProxyDraft): void {
  for (const token of tokens) {
    const { scheme, dials } = parseUpstream(token);
    noteScheme(scheme, token, draft);
    for (const dial of dials) {
      const upstream: JsonObject = { dial };
      draft.upstreams.push(draft.context.adaptation.origins.mark(upstream, token));
    }
  }
}

/** A scheme may come late (`a b https://c` makes all of them HTTPS), but it may not change. */
function noteScheme(scheme: Scheme, token: Token, draft: ProxyDraft): void {
  if (draft.scheme !== '' && scheme !== draft.scheme) {
    const found = scheme === '' ? `'${token.text}' without a scheme` : `'${scheme}://'`;
    const rule = 'for now, all proxy upstreams must use the same scheme (transport protocol)';
    throw failure(token, `${rule}; expecting '${draft.scheme}://' but got ${found}`);
  }
  if (draft.scheme === '' && scheme !== '') {
    draft.scheme = scheme;
    draft.schemeToken = token;
  }
}

function parseUpstream(token: Token): UpstreamAddress {
  const { text } = token;
  if (text === '') throw failure(token, 'an upstream address is empty');
  const url = /^([a-z][a-z0-9+.-]*):\/\/(.*)$/is.exec(text);
  if (url !== null) return parseUrl(url[1]?.toLowerCase() ?? '', url[2] ?? '', token);
  const network = /^([a-z0-9]+)(\+h2c)?\/(.*)$/s.exec(text);
  if (network === null) return { scheme: '', dials: expandPorts('', text, '', token) };
  const [, name = '', h2c, rest = ''] = network;
  const scheme: Scheme = h2c === undefined ? '' : 'h2c';
  if (name === 'unix' || name === 'fd') return { scheme, dials: [`${name}/${rest}`] };
  if (!/^(?:tcp|udp)[46]?$/.test(name)) throw failure(token, `unknown network '${name}' in the upstream '${text}'`);
  return { scheme, dials: expandPorts(`${name}/`, rest, scheme, token) };
}

function parseUrl(scheme: string, rest: string, token: Token): UpstreamAddress {
  if (scheme === 'ws' || scheme === 'wss') {
    const instead = scheme === 'ws' ? 'http' : 'https';
    throw failure(token, `the scheme ${scheme}:// is only supported in browsers; use ${instead}:// instead`);
  }
  if (scheme !== 'http' && scheme !== 'https' && scheme !== 'h2c') {
    throw failure(token, `unsupported URL scheme ${scheme}://`);
  }
  if (rest.includes('{')) {
    const what = 'due to parsing difficulties, placeholders are not allowed when an upstream address contains a scheme';
    throw failure(token, what);
  }
  if (/[/?#]/.test(rest)) {
    const what = 'for now, URLs for proxy upstreams only support scheme, host, and port components';
    throw failure(token, `${what}: remove what follows the port in '${token.text}'; paths are changed by rewrite`);
  }
  return { scheme, dials: expandPorts('', rest, scheme, token) };
}

/** `host:8001-8003` → three dials. Placeholders are kept as they are. */
function expandPorts(network: string, authority: string, scheme: Scheme, token: Token): string[] {
  const { host, port } = splitPort(authority, token);
  if (port === null) {
    return [host.includes('{') ? network + host : `${network}${host}:${DEFAULT_PORTS[scheme]}`];
  }
  if (port.includes('{')) return [`${network}${host}:${port}`];
  const range = /^(\d+)(?:-(\d+))?$/.exec(port);
  if (range === null) throw failure(token, `bad port '${port}' in the upstream '${token.text}'`);
  const start = Number(range[1]);
  const end = Number(range[2] ?? range[1]);
  if (start > MAX_RANGE || end > MAX_RANGE) throw failure(token, `port ${port} is out of range`);
  if (end < start) throw failure(token, `end port must be greater than start port in '${token.text}'`);
  if (port === WRONG_PORTS[scheme]) {
    throw failure(token, `upstream address has conflicting scheme (${scheme}://) and port (:${port})`);
  }
  return Array.from({ length: end - start + 1 }, (_unused, index) => `${network}${host}:${start + index}`);
}

function splitPort(authority: string, token: Token): { host: string; port: string | null } {
  const bracketed = /^(\[[^\]]*\])(?::(.*))?$/s.exec(authority);
  if (bracketed !== null) return { host: bracketed[1] ?? '', port: bracketed[2] ?? null };
  const masked = authority.replace(/\{[^}]*\}/g, (placeholder) => 'x'.repeat(placeholder.length));
  const colon = masked.indexOf(':');
  if (colon === -1) return { host: authority, port: null };
  if (masked.includes(':', colon + 1)) {
    throw failure(token, `the upstream '${token.text}' has too many colons: put an IPv6 address in brackets`);
  }
  return { host: authority.slice(0, colon), port: authority.slice(colon + 1) };
}
