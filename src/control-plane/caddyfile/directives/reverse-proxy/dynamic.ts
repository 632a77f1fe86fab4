import type { JsonObject } from '../../json.ts';
import { failure } from '../../syntax/failure.ts';
import { blockOf, duration, one, some, texts, wrongCount } from '../../syntax/read.ts';
import type { Statement } from '../../syntax/statement.ts';
import { put, type SubdirectiveTable } from './draft.ts';

type Option = (line: Statement, source: JsonObject) => void;

const time: Option = (line, source) => void (source[line.name.text] = duration(one(line)));
const word: Option = (line, source) => void (source[line.name.text] = one(line).text);
const resolvers: Option = (line, source) => void (source['resolver'] = { addresses: texts(some(line, 1)) });

const SHARED: Readonly<Record<string, Option>> = {
  name: word,
  refresh: time,
  resolvers,
  dial_timeout: time,
  dial_fallback_delay: time,
};

const A_OPTIONS: Readonly<Record<string, Option>> = {
  ...SHARED,
  port: word,
  versions: (line, source) => {
    const versions: JsonObject = {};
    for (const token of some(line, 1)) {
      if (token.text !== 'ipv4' && token.text !== 'ipv6') throw failure(token, `unsupported version: '${token.text}'`);
      versions[token.text] = true;
    }
    source['versions'] = versions;
  },
};

const SRV_OPTIONS: Readonly<Record<string, Option>> = { ...SHARED, service: word, proto: word, grace_period: time };

/** `dynamic a|srv|multi …`: upstreams found in DNS. */
export const DYNAMIC_SUBDIRECTIVES: SubdirectiveTable = {
  dynamic: (line, draft) => {
    if (draft.fields['dynamic_upstreams'] !== undefined) {
      throw failure(line.name, 'dynamic upstreams already specified');
    }
    const [source, ...args] = line.args;
    if (source === undefined) throw wrongCount(line);
    const parsed = parseSource({ name: source, args, block: line.block });
    put(draft, draft.fields, 'dynamic_upstreams', draft.context.adaptation.origins.mark(parsed, line.name), line);
  },
};

function parseSource(line: Statement): JsonObject {
  switch (line.name.text) {
    case 'a':
      return readOptions(line, positional(line, ['name', 'port']), A_OPTIONS);
    case 'srv':
      return readOptions(line, positional(line, ['name']), SRV_OPTIONS);
    case 'multi':
      if (line.args.length > 0) throw wrongCount(line);
      return { source: 'multi', sources: blockOf(line).map(parseSource) };
    default:
      throw failure(line.name, `module not registered: http.reverse_proxy.upstreams.${line.name.text}`);
  }
}

function positional(line: Statement, names: readonly string[]): JsonObject {
  if (line.args.length > names.length) throw wrongCount(line);
  const source: JsonObject = { source: line.name.text };
  for (const [index, token] of line.args.entries()) source[names[index] ?? ''] = token.text;
  return source;
}

function readOptions(line: Statement, source: JsonObject, options: Readonly<Record<string, Option>>): JsonObject {
  for (const option of blockOf(line)) {
    const { text } = option.name;
    const parse = Object.hasOwn(options, text) ? options[text] : undefined;
    if (parse === undefined) throw failure(option.name, `unrecognized ${line.name.text} option '${text}'`);
    parse(option, source);
  }
  return source;
}
