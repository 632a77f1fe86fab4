import type { Statement } from '../syntax/statement.ts';
import type { Token } from '../syntax/token.ts';

const PLAIN: Readonly<Record<string, string>> = {
  host: 'http.request.host',
  hostport: 'http.request.hostport',
  port: 'http.request.port',
  method: 'http.request.method',
  scheme: 'http.request.scheme',
  uuid: 'http.request.uuid',
  uri: 'http.request.uri',
  '%uri': 'http.request.uri_escaped',
  path: 'http.request.uri.path',
  '%path': 'http.request.uri.path_escaped',
  dir: 'http.request.uri.path.dir',
  file: 'http.request.uri.path.file',
  query: 'http.request.uri.query',
  '%query': 'http.request.uri.query_escaped',
  '?query': 'http.request.uri.prefixed_query',
  remote: 'http.request.remote',
  remote_host: 'http.request.remote.host',
  remote_port: 'http.request.remote.port',
  orig_method: 'http.request.orig_method',
  orig_uri: 'http.request.orig_uri',
  orig_path: 'http.request.orig_uri.path',
  orig_dir: 'http.request.orig_uri.path.dir',
  orig_file: 'http.request.orig_uri.path.file',
  orig_query: 'http.request.orig_uri.query',
  'orig_?query': 'http.request.orig_uri.prefixed_query',
  tls_cipher: 'http.request.tls.cipher_suite',
  tls_version: 'http.request.tls.version',
  tls_client_fingerprint: 'http.request.tls.client.fingerprint',
  tls_client_issuer: 'http.request.tls.client.issuer',
  tls_client_serial: 'http.request.tls.client.serial',
  tls_client_subject: 'http.request.tls.client.subject',
  tls_client_certificate_pem: 'http.request.tls.client.certificate_pem',
  tls_client_certificate_der_base64: 'http.request.tls.client.certificate_der_base64',
  client_ip: 'http.vars.client_ip',
  upstream_hostport: 'http.reverse_proxy.upstream.hostport',
};

/** First word of the parameterised shorthands; those in `DOTTED` take dots in their parameter too. */
const PREFIXES: Readonly<Record<string, string>> = {
  header: 'http.request.header',
  cookie: 'http.request.cookie',
  labels: 'http.request.host.labels',
  path: 'http.request.uri.path',
  file: 'http.request.uri.path.file',
  query: 'http.request.uri.query',
  re: 'http.regexp',
  vars: 'http.vars',
  rp: 'http.reverse_proxy',
  resp: 'http.intercept',
  err: 'http.error',
  file_match: 'http.matchers.file',
};

const DOTTED: ReadonlySet<string> = new Set(['re', 'rp', 'resp', 'err']);

/** Replaces `{host}`, `{header.X}` and the other shorthands by the names the runtime knows. */
function expandShorthands(text: string): string {
  if (!text.includes('{')) return text;
  return text.replace(/\{([^{}\s]+)\}/g, (whole, name: string) => {
    const long = longName(name);
    return long === null ? whole : `{${long}}`;
  });
}

function longName(name: string): string | null {
  if (Object.hasOwn(PLAIN, name)) return PLAIN[name] ?? null;
  const dot = name.indexOf('.');
  if (dot === -1) return null;
  const prefix = name.slice(0, dot);
  const parameter = name.slice(dot + 1);
  if (!Object.hasOwn(PREFIXES, prefix)) return null;
  const allowed = DOTTED.has(prefix) ? /^[\w.-]*$/ : /^[\w-]*$/;
  return allowed.test(parameter) ? `${PREFIXES[prefix] ?? ''}.${parameter}` : null;
}

export function expandInStatements(statements: readonly Statement[]): Statement[] {
  return statements.map(({ name, args, block }) => ({
    name: expandToken(name),
    args: args.map(expandToken),
    block: block === null ? null : expandInStatements(block),
  }));
}

function expandToken(token: Token): Token {
  if (!token.text.includes('{')) return token;
  return { ...token, text: expandShorthands(token.text), raw: expandShorthands(token.raw) };
}
