import { type JsonObject, type JsonValue, setOwn } from '../json.ts';
import { failure } from '../syntax/failure.ts';
import { blockOf, integer, one, some, wrongCount } from '../syntax/read.ts';
import type { Statement } from '../syntax/statement.ts';
import type { Token } from '../syntax/token.ts';

/** `format console|json|filter|append { … }`. */
export function parseEncoder(line: Statement): JsonObject {
  const [kind, ...args] = line.args;
  if (kind === undefined) throw wrongCount(line);
  const inner: Statement = { name: kind, args, block: line.block };
  if (kind.text === 'filter') return parseFilter(inner);
  if (kind.text === 'append') return parseAppend(inner);
  if (kind.text !== 'console' && kind.text !== 'json') {
    throw failure(kind, `unknown log format '${kind.text}': write console, json, filter or append`);
  }
  some({ ...inner, block: null }, 0, 0);
  const encoder: JsonObject = { format: kind.text };
  for (const option of blockOf(inner)) {
    if (
      !/^(?:message|level|time|name|caller|stacktrace|line)_(?:key|format|ending|local)$|^duration_format$/.test(
        option.name.text,
      )
    ) {
      throw failure(option.name, `unrecognized subdirective ${option.name.text}`);
    }
    encoder[option.name.text] = one(option).text;
  }
  return encoder;
}

/** `filter { wrap <format>; fields { <field> <filter> … } }`; fields may stand in the block directly. */
function parseFilter(line: Statement): JsonObject {
  some({ ...line, block: null }, 0, 0);
  const encoder: JsonObject = { format: 'filter' };
  const fields: JsonObject = {};
  for (const option of blockOf(line)) {
    if (option.name.text === 'wrap') encoder['wrap'] = parseEncoder(option);
    else if (option.name.text === 'fields') {
      for (const field of blockOf(option)) setOwn(fields, field.name.text, parseFieldFilter(field));
    } else setOwn(fields, option.name.text, parseFieldFilter(option));
  }
  if (Object.keys(fields).length > 0) encoder['fields'] = fields;
  return encoder;
}

/** `append { wrap <format>; fields { <field> <value> … } }`; fields may stand in the block directly. */
function parseAppend(line: Statement): JsonObject {
  some({ ...line, block: null }, 0, 0);
  const encoder: JsonObject = { format: 'append' };
  const fields: JsonObject = {};
  for (const option of blockOf(line)) {
    if (option.name.text === 'wrap') encoder['wrap'] = parseEncoder(option);
    else if (option.name.text === 'fields') {
      for (const field of blockOf(option)) setOwn(fields, field.name.text, scalarOf(one(field)));
    } else setOwn(fields, option.name.text, scalarOf(one(option)));
  }
  if (Object.keys(fields).length > 0) encoder['fields'] = fields;
  return encoder;
}

/** A word without quotes that is a number or a truth value is one. */
function scalarOf({ text, quote }: Token): JsonValue {
  if (quote !== '') return text;
  if (text === 'true' || text === 'false') return text === 'true';
  return /^[+-]?\d+(?:\.\d+)?$/.test(text) && Number.isFinite(Number(text)) ? Number(text) : text;
}

function parseFieldFilter(field: Statement): JsonObject {
  const [kind, ...args] = field.args;
  if (kind === undefined) throw wrongCount(field);
  const inner: Statement = { name: kind, args, block: field.block };
  switch (kind.text) {
    case 'delete':
    case 'hash':
      some(inner, 0, 0);
      return { filter: kind.text };
    case 'replace':
    case 'rename': {
      const key = kind.text === 'replace' ? 'value' : 'name';
      return { filter: kind.text, [key]: one(inner).text };
    }
    case 'regexp': {
      const [regexp, value] = some(inner, 2, 2);
      return { filter: 'regexp', regexp: regexp?.text ?? '', value: value?.text ?? '' };
    }
    case 'ip_mask':
      return ipMask(inner);
    case 'query':
      return { filter: 'query', actions: actionsOf(inner, 'parameter') };
    case 'cookie':
      return { filter: 'cookie', actions: actionsOf(inner, 'name') };
    default:
      throw failure(kind, `unknown log filter '${kind.text}'`);
  }
}

/** `replace <name> <value>`, `hash <name>` and `delete <name>` of a block. */
function actionsOf(line: Statement, key: 'parameter' | 'name'): JsonObject[] {
  some({ ...line, block: null }, 0, 0);
  return blockOf(line).map((option) => {
    const type = option.name.text;
    if (!['replace', 'hash', 'delete'].includes(type)) {
      throw failure(option.name, `unrecognized subdirective ${type}`);
    }
    const [name, value] = type === 'replace' ? some(option, 2, 2) : some(option, 1, 1);
    const action: JsonObject = { type, [key]: name?.text ?? '' };
    return value === undefined ? action : { ...action, value: value.text };
  });
}

function ipMask(line: Statement): JsonObject {
  const filter: JsonObject = { filter: 'ip_mask' };
  const [v4, v6, surplus] = line.args;
  if (surplus !== undefined) throw wrongCount(line);
  if (v4 !== undefined) filter['ipv4_cidr'] = prefix(v4, 32);
  if (v6 !== undefined) filter['ipv6_cidr'] = prefix(v6, 128);
  for (const option of blockOf(line)) {
    if (option.name.text === 'ipv4') filter['ipv4_cidr'] = prefix(one(option), 32);
    else if (option.name.text === 'ipv6') filter['ipv6_cidr'] = prefix(one(option), 128);
    else throw failure(option.name, `unrecognized subdirective ${option.name.text}`);
  }
  return filter;
}

function prefix(token: Token, max: number): number {
  const value = integer(token, 'bad prefix length');
  if (value < 0 || value > max) throw failure(token, `bad prefix length '${token.text}': write 0 to ${max}`);
  return value;
}
