import type { Adaptation } from '../context.ts';
import type { GlobalOption, GlobalOptions } from '../global/option.ts';
import { type JsonObject, setOwn } from '../json.ts';
import { failure } from '../syntax/failure.ts';
import { blockOf, some } from '../syntax/read.ts';
import type { Statement } from '../syntax/statement.ts';
import { knownHint } from '../unknown-word.ts';
import { parseMatcher } from './matchers.ts';
import { parseRoute } from './routes.ts';
import type { Routing } from './routing.ts';
import { SERVER_OPTIONS } from './server-options.ts';

/**
 * `layer4 { <address>… { @<name> <matcher>; route [@<name>…] { <handler>… }; matching_timeout <duration>; … } }`.
 * Each block inside is one server; several `layer4` options go on where the one before ended.
 */
export const layer4: GlobalOption = {
  name: 'layer4',
  parse(statement, options, adaptation) {
    some({ ...statement, block: null }, 0, 0);
    for (const line of blockOf(statement)) options.layer4.push(parseServer(line, adaptation));
  },
};

/** `apps.layer4`, null when there is no server. Servers are `srvN` in the order of their blocks. */
export function layer4App({ layer4: all }: GlobalOptions): JsonObject | null {
  if (all.length === 0) return null;
  const servers: JsonObject = {};
  for (const [index, server] of all.entries()) setOwn(servers, `srv${index}`, server);
  return { servers };
}

function parseServer(statement: Statement, adaptation: Adaptation): JsonObject {
  if (statement.block === null) {
    throw failure(statement.name, `'${statement.name.text}' has no block: a layer4 server is written <address> { … }`);
  }
  const server: JsonObject = { listen: [statement.name, ...statement.args].map(({ text }) => text) };
  adaptation.origins.mark(server, statement.name);
  const routing: Routing = { adaptation, matchers: new Map(), parseRoute };
  for (const line of statement.block) if (line.name.text.startsWith('@')) parseMatcher(line, routing);
  const routes = statement.block.flatMap((line) => parseLine(line, server, routing));
  if (routes.length > 0) server['routes'] = routes;
  return server;
}

function parseLine(line: Statement, server: JsonObject, routing: Routing): JsonObject[] {
  const { text } = line.name;
  if (text.startsWith('@')) return [];
  if (text === 'route') return [parseRoute(line, routing)];
  const parse = Object.hasOwn(SERVER_OPTIONS, text) ? SERVER_OPTIONS[text] : undefined;
  if (parse === undefined) {
    const hint = knownHint(text, ['@<name>', 'route', ...Object.keys(SERVER_OPTIONS)]);
    throw failure(line.name, `unrecognized layer4 option '${text}'${hint}`);
  }
  if (server[text] !== undefined) throw failure(line.name, `${text} already specified`);
  parse(line, server, routing.adaptation);
  return [];
}
