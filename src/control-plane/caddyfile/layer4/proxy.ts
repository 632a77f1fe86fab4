import { setField } from '../context.ts';
import { parsePolicy } from '../directives/reverse-proxy/policies.ts';
import { parseHealthBlock } from '../health/block.ts';
import type { JsonObject, JsonValue } from '../json.ts';
import { failure } from '../syntax/failure.ts';
import { blockOf, duration, flag, integer, one, some, wrongCount } from '../syntax/read.ts';
import type { Statement } from '../syntax/statement.ts';
import type { Token } from '../syntax/token.ts';
import { readDrain } from '../read-drain.ts';
import { knownHint } from '../unknown-word.ts';
import { parseProxyHeader } from './proxy-header.ts';
import type { Routing } from './routing.ts';
import { setSlowStart, upstreamOf, upstreamWithOptions } from './upstream.ts';

/** A `proxy` handler under construction. */
interface ProxyDraft {
  readonly routing: Routing;
  readonly upstreams: JsonObject[];
  readonly loadBalancing: JsonObject;
  readonly active: JsonObject;
  /** `health <probe>`; null = not written. */
  probe: JsonObject | null;
  readonly passive: JsonObject;
  /** Fields of the handler itself. */
  readonly fields: JsonObject;
  /** For upstreams without one of their own. */
  slowStart: { readonly ns: number; readonly token: Token } | null;
}

type Part = 'loadBalancing' | 'active' | 'passive' | 'fields';
type Option = (line: Statement, draft: ProxyDraft) => void;

function field(part: Part, name: string, read: (line: Statement, draft: ProxyDraft) => JsonValue): Option {
  return (line, draft) => {
    const { origins } = draft.routing.adaptation;
    origins.mark(draft[part], line.name);
    setField(draft[part], name, read(line, draft), line.name, origins);
  };
}

function time(part: Part, name: string): Option {
  return field(part, name, (line) => duration(one(line), `bad ${line.name.text}`));
}

function count(part: Part, name: string): Option {
  return field(part, name, (line) => integer(one(line), `bad ${line.name.text}`));
}

function word(part: Part, name: string): Option {
  return field(part, name, (line) => one(line).text);
}

/** The lines of a `proxy` block; ranges are in the schema. Each may be written once, but for `upstream`. */
export const PROXY_OPTIONS: Readonly<Record<string, Option>> = {
  upstream: (line, draft) => void draft.upstreams.push(upstreamWithOptions(line, draft.routing)),
  lb_policy: field('loadBalancing', 'selection', readPolicy),
  lb_retries: count('loadBalancing', 'retries'),
  lb_try_duration: time('loadBalancing', 'try_duration'),
  lb_try_interval: time('loadBalancing', 'try_interval'),
  best_effort: field('loadBalancing', 'best_effort', readSwitch),
  health: (line, draft) => {
    draft.probe = parseHealthBlock(line, draft.routing.adaptation.origins);
  },
  health_interval: time('active', 'interval'),
  health_timeout: time('active', 'timeout'),
  health_port: count('active', 'port'),
  health_fall: count('active', 'fall'),
  health_rise: count('active', 'rise'),
  close_if_unhealthy: field('active', 'close_if_unhealthy', (line) => {
    flag(line);
    return true;
  }),
  fail_duration: time('passive', 'fail_duration'),
  max_fails: count('passive', 'max_fails'),
  first_byte_timeout: time('passive', 'first_byte_timeout'),
  unhealthy_connection_count: count('passive', 'unhealthy_connection_count'),
  proxy_protocol: (line, draft) => parseProxyHeader(line, draft.fields, draft.routing.adaptation.origins),
  proxy_header: word('fields', 'proxy_header'),
  dial_timeout: time('fields', 'dial_timeout'),
  drain: field('fields', 'drain', readDrain),
  preserve_client_ip: field('fields', 'preserve_client_ip', () => true),
  slow_start: (line, draft) => {
    draft.slowStart = { ns: duration(one(line), 'bad slow_start'), token: line.name };
  },
};

/** `proxy [<host:port>…] { … }`. */
export function parseProxy(statement: Statement, routing: Routing): JsonObject {
  const upstreams = statement.args.map((token) => upstreamOf(token, routing));
  const draft: ProxyDraft = {
    ...{ routing, upstreams, probe: null, slowStart: null },
    ...{ loadBalancing: {}, active: {}, passive: {}, fields: {} },
  };
  const written = new Set<string>();
  for (const line of blockOf(statement)) {
    const { text } = line.name;
    const parse = Object.hasOwn(PROXY_OPTIONS, text) ? PROXY_OPTIONS[text] : undefined;
    if (parse === undefined) {
      const hint = knownHint(text, Object.keys(PROXY_OPTIONS));
      throw failure(line.name, `unrecognized proxy option '${text}'${hint}`);
    }
    if (text !== 'upstream' && written.has(text)) throw failure(line.name, `${text} already specified`);
    written.add(text);
    parse(line, draft);
  }
  return finish(draft);
}

function finish(draft: ProxyDraft): JsonObject {
  const { origins } = draft.routing.adaptation;
  if (draft.slowStart !== null) setSlowStart(draft.upstreams, draft.slowStart.ns, draft.slowStart.token, origins);
  const handler: JsonObject = { handler: 'proxy', ...draft.fields };
  origins.adoptFields(draft.fields, handler);
  if (draft.upstreams.length > 0) handler['upstreams'] = draft.upstreams;
  if (Object.keys(draft.loadBalancing).length > 0) handler['load_balancing'] = draft.loadBalancing;
  const checks: JsonObject = {};
  if (Object.keys(draft.active).length > 0) checks['active'] = draft.active;
  if (Object.keys(draft.passive).length > 0) checks['passive'] = draft.passive;
  if (draft.probe !== null) checks['probe'] = draft.probe;
  if (Object.keys(checks).length > 0) handler['health_checks'] = checks;
  return handler;
}

/** Those of `reverse_proxy`; `random_choose` takes two when it is not told. */
function readPolicy(line: Statement, draft: ProxyDraft): JsonObject {
  const { origins } = draft.routing.adaptation;
  const [name, surplus] = line.args;
  if (name?.text === 'random_choose' && surplus === undefined && line.block === null) {
    return origins.mark({ policy: 'random_choose' }, line.name);
  }
  return parsePolicy(line, origins);
}

/** The bare word is `on`. */
function readSwitch(line: Statement): boolean {
  const [token, surplus] = some(line, 0, 1);
  if (surplus !== undefined) throw wrongCount(line);
  if (token === undefined || token.text === 'on') return true;
  if (token.text === 'off') return false;
  throw failure(token, `bad ${line.name.text} '${token.text}': write on or off`);
}
