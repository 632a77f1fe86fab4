import { NOT_YET_LAYER4_HANDLERS } from '../../config/schema/layer4/routes.ts';
import type { JsonObject } from '../json.ts';
import { expandRanges } from '../matchers/ranges.ts';
import { failure } from '../syntax/failure.ts';
import { blockOf, duration, flag, one, some } from '../syntax/read.ts';
import type { Statement } from '../syntax/statement.ts';
import { setField } from '../context.ts';
import { knownHint, nearestHint } from '../unknown-word.ts';
import { parseMatcher } from './matchers.ts';
import { parseProxy } from './proxy.ts';
import type { Routing } from './routing.ts';
import { parseTls } from './tls.ts';

export type HandlerParser = (line: Statement, routing: Routing) => JsonObject;

/** By name. */
export const HANDLERS: Readonly<Record<string, HandlerParser>> = {
  proxy: parseProxy,
  tls: parseTls,
  proxy_protocol: parseProxyProtocol,
  subroute: parseSubroute,
  close: parsePlain,
  echo: parsePlain,
};

/** One line of a `route` block. */
export function parseHandler(line: Statement, routing: Routing): JsonObject {
  const { text } = line.name;
  if (NOT_YET_LAYER4_HANDLERS.includes(text)) {
    throw failure(line.name, `'${text}' (layer4 handler) is not supported yet`);
  }
  const parse = Object.hasOwn(HANDLERS, text) ? HANDLERS[text] : undefined;
  if (parse === undefined) {
    const known = Object.keys(HANDLERS);
    throw failure(
      line.name,
      `unrecognized layer4 handler '${text}'${nearestHint(text, known)}: known are ${known.join(', ')}`,
    );
  }
  return routing.adaptation.origins.mark(parse(line, routing), line.name);
}

function parsePlain(line: Statement): JsonObject {
  flag(line);
  return { handler: line.name.text };
}

/** `proxy_protocol { allow <range>…; timeout <duration> }`. */
function parseProxyProtocol(line: Statement, { adaptation: { origins } }: Routing): JsonObject {
  some({ ...line, block: null }, 0, 0);
  const handler: JsonObject = { handler: 'proxy_protocol' };
  for (const option of blockOf(line)) {
    const { text } = option.name;
    if (text === 'allow' || text === 'deny') {
      const known = handler[text];
      const ranges = [...(Array.isArray(known) ? known : []), ...expandRanges(some(option, 1))];
      setField(handler, text, ranges, option.name, origins);
    } else if (text === 'timeout' || text === 'fallback_policy') {
      if (handler[text] !== undefined) throw failure(option.name, `${text} already specified`);
      const value = text === 'timeout' ? duration(one(option), 'bad timeout') : one(option).text;
      setField(handler, text, value, option.name, origins);
    } else {
      const hint = knownHint(text, ['allow', 'timeout']);
      throw failure(option.name, `unrecognized proxy_protocol option '${text}'${hint}`);
    }
  }
  return handler;
}

/** `subroute { @<name> <matcher>; route [@<name>…] { … } }`. */
function parseSubroute(line: Statement, outer: Routing): JsonObject {
  some({ ...line, block: null }, 0, 0);
  const { adaptation } = outer;
  const inner: Routing = { ...outer, matchers: new Map() };
  const lines = blockOf(line);
  for (const one of lines) if (one.name.text.startsWith('@')) parseMatcher(one, inner);
  const handler: JsonObject = { handler: 'subroute' };
  const routes: JsonObject[] = [];
  for (const option of lines) {
    const { text } = option.name;
    if (text === 'route') routes.push(inner.parseRoute(option, inner));
    else if (text === 'matching_timeout') {
      setField(handler, text, duration(one(option), 'bad matching_timeout'), option.name, adaptation.origins);
    } else if (!text.startsWith('@'))
      throw failure(option.name, `unrecognized subroute option '${text}': write @name or route`);
  }
  if (routes.length > 0) handler['routes'] = routes;
  return handler;
}
