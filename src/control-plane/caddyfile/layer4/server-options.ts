import { type Adaptation, setField } from '../context.ts';
import type { JsonObject, JsonValue } from '../json.ts';
import { failure } from '../syntax/failure.ts';
import { byteSize, duration, integer, one } from '../syntax/read.ts';
import type { Statement } from '../syntax/statement.ts';

type Option = (line: Statement, server: JsonObject, adaptation: Adaptation) => void;

function field(name: string, read: (line: Statement) => JsonValue): Option {
  return (line, server, { origins }) => setField(server, name, read(line), line.name, origins);
}

function count(name: string): Option {
  return field(name, (line) => integer(one(line), `bad number of ${name}`));
}

function time(name: string): Option {
  return field(name, (line) => duration(one(line), `bad ${name}`));
}

function choice(name: string, words: readonly string[]): Option {
  return field(name, (line) => {
    const token = one(line);
    if (words.includes(token.text)) return token.text;
    throw failure(token, `bad ${name} '${token.text}': write ${words.join(' or ')}`);
  });
}

/** The lines of a layer-4 server besides matchers and routes. Ranges are in the schema. */
export const SERVER_OPTIONS: Readonly<Record<string, Option>> = {
  matching_timeout: time('matching_timeout'),
  idle_timeout: time('idle_timeout'),
  connections: count('connections'),
  connections_per_source: count('connections_per_source'),
  new_per_second: count('new_per_second'),
  accept: choice('accept', ['kernel', 'shared']),
  workers: choice('workers', ['one', 'all']),
  max_sessions: count('max_sessions'),
  receive_buffer: field('receive_buffer', (line) => byteSize(one(line))),
  responses: count('responses'),
};
