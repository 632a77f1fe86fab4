import { type Origins, setField, trackFields } from '../context.ts';
import { TLS_OPTIONS } from '../directives/reverse-proxy/transport-tls.ts';
import type { JsonObject, JsonValue } from '../json.ts';
import { failure } from '../syntax/failure.ts';
import { blockOf, duration, flag, integer, one, some, texts } from '../syntax/read.ts';
import type { Statement } from '../syntax/statement.ts';
import type { Token } from '../syntax/token.ts';
import { knownHint } from '../unknown-word.ts';
import type { Routing } from './routing.ts';

/** Options of caddy-l4's block that this version has not. */
const NOT_YET: readonly string[] = Object.freeze(['resolver_preference']);

function count(line: Statement): number {
  return integer(one(line), `bad ${line.name.text}`);
}

/** The lines of an `upstream` block besides `dial`. */
export const UPSTREAM_OPTIONS: Readonly<Record<string, (line: Statement) => JsonValue>> = {
  local_addr: (line) => one(line).text,
  max_connections: count,
  weight: count,
  backup: (line) => {
    flag(line);
    return true;
  },
  slow_start: (line) => duration(one(line), 'bad slow_start'),
};

/** An address behind `proxy`. */
export function upstreamOf(token: Token, { adaptation: { origins } }: Routing): JsonObject {
  return origins.mark({ dial: [token.text] }, token);
}

/** `upstream [<host:port>…] { dial <host:port>…; weight <n>; max_connections <n>; backup; slow_start <duration>; local_addr <ip>; tls… }`. */
export function upstreamWithOptions(line: Statement, { adaptation: { origins } }: Routing): JsonObject {
  const dial = texts(line.args);
  const upstream: JsonObject = origins.mark({ dial }, line.args[0] ?? line.name);
  const written = new Set<string>();
  for (const option of blockOf(line)) {
    const { text } = option.name;
    if (text === 'dial') {
      dial.push(...texts(some(option, 1)));
      origins.markField(upstream, 'dial', option.name);
      continue;
    }
    if (NOT_YET.includes(text)) throw failure(option.name, `'${text}' (layer4 upstream) is not supported yet`);
    if (written.has(text)) throw failure(option.name, `${text} already specified`);
    written.add(text);
    if (Object.hasOwn(TLS_OPTIONS, text)) {
      trackFields([upstream], option, origins, () => TLS_OPTIONS[text]!(option, upstream));
      continue;
    }
    const read = Object.hasOwn(UPSTREAM_OPTIONS, text) ? UPSTREAM_OPTIONS[text] : undefined;
    if (read === undefined) {
      const hint = knownHint(text, ['dial', ...Object.keys(UPSTREAM_OPTIONS), ...Object.keys(TLS_OPTIONS)]);
      throw failure(option.name, `unrecognized upstream option '${text}'${hint}`);
    }
    setField(upstream, text, read(option), option.name, origins);
  }
  return upstream;
}

/** For those that have none of their own. */
export function setSlowStart(upstreams: readonly JsonObject[], ns: number, token: Token, origins: Origins): void {
  for (const upstream of upstreams) {
    if (upstream['slow_start'] === undefined) setField(upstream, 'slow_start', ns, token, origins);
  }
}
