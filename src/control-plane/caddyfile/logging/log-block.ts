import type { JsonObject } from '../json.ts';
import { failure } from '../syntax/failure.ts';
import { blockOf, duration, flag, integer, one, some, texts, wrongCount } from '../syntax/read.ts';
import type { Statement } from '../syntax/statement.ts';
import { nearestHint } from '../unknown-word.ts';
import { parseFileWriter } from './log-file.ts';
import { parseEncoder } from './log-format.ts';

const LEVELS: readonly string[] = ['DEBUG', 'INFO', 'WARN', 'ERROR', 'PANIC', 'FATAL'];

/** What a `log` block says. */
export interface LogBlock {
  readonly config: JsonObject;
  readonly hostnames: string[];
  noHostname: boolean;
}

type Option = (line: Statement, block: LogBlock) => void;

const SHARED: Readonly<Record<string, Option>> = {
  output: (line, block) => void (block.config['writer'] = parseWriter(line)),
  format: (line, block) => void (block.config['encoder'] = parseEncoder(line)),
  level: (line, block) => {
    const level = one(line);
    if (!LEVELS.includes(level.text.toUpperCase())) {
      throw failure(level, `unknown log level '${level.text}': write one of ${LEVELS.join(', ')}`);
    }
    block.config['level'] = level.text.toUpperCase();
  },
  sampling: (line, block) => void (block.config['sampling'] = parseSampling(line)),
};

/** Only in the global options. */
const GLOBAL: Readonly<Record<string, Option>> = {
  ...SHARED,
  include: (line, block) => void (block.config['include'] = texts(some(line, 1))),
  exclude: (line, block) => void (block.config['exclude'] = texts(some(line, 1))),
};

/** Only in a site. */
const SITE: Readonly<Record<string, Option>> = {
  ...SHARED,
  hostnames: (line, block) => {
    for (const token of some(line, 1)) block.hostnames.push(token.text);
  },
  no_hostname: (line, block) => {
    some(line, 0, 0);
    block.noHostname = true;
  },
};

export function parseLogBlock(statement: Statement, place: 'global' | 'site'): LogBlock {
  const options = place === 'global' ? GLOBAL : SITE;
  const block: LogBlock = { config: {}, hostnames: [], noHostname: false };
  const seen = new Set<string>();
  for (const line of blockOf(statement)) {
    const { text } = line.name;
    const parse = Object.hasOwn(options, text) ? options[text] : undefined;
    if (parse === undefined) {
      throw failure(line.name, `unrecognized subdirective: ${text}${nearestHint(text, Object.keys(options))}`);
    }
    if (seen.has(text)) throw failure(line.name, `subdirective '${text}' is already specified`);
    seen.add(text);
    parse(line, block);
  }
  return block;
}

function parseWriter(line: Statement): JsonObject {
  const [kind, ...args] = line.args;
  if (kind === undefined) throw wrongCount(line);
  const inner: Statement = { name: kind, args, block: line.block };
  if (kind.text === 'file') return parseFileWriter(inner);
  if (kind.text === 'net') return parseNetWriter(inner);
  if (!['stderr', 'stdout', 'discard'].includes(kind.text)) {
    throw failure(kind, `unknown log output '${kind.text}': write stderr, stdout, discard, file or net`);
  }
  some(inner, 0, 0);
  return { output: kind.text };
}

/** `output net <address> { dial_timeout <duration>; soft_start }`. */
function parseNetWriter(line: Statement): JsonObject {
  const writer: JsonObject = { output: 'net', address: one({ ...line, block: null }).text };
  for (const option of blockOf(line)) {
    const { text } = option.name;
    if (text === 'dial_timeout') {
      writer[text] = duration(one(option));
    } else if (text === 'soft_start') {
      flag(option);
      writer[text] = true;
    } else {
      throw failure(option.name, `unrecognized subdirective '${text}'`);
    }
  }
  return writer;
}

function parseSampling(line: Statement): JsonObject {
  some({ ...line, block: null }, 0, 0);
  const sampling: JsonObject = {};
  for (const option of blockOf(line)) {
    const { text } = option.name;
    if (text === 'interval') sampling[text] = duration(one(option));
    else if (text === 'first' || text === 'thereafter') sampling[text] = integer(one(option), `bad ${text} number`);
    else throw failure(option.name, `unrecognized subdirective: ${text}`);
  }
  return sampling;
}
