import { trackFields } from '../../context.ts';
import type { JsonObject } from '../../json.ts';
import { failure } from '../../syntax/failure.ts';
import { blockOf, integer, one, some, texts } from '../../syntax/read.ts';
import type { Statement } from '../../syntax/statement.ts';
import { nearestHint } from '../../unknown-word.ts';
import type { PolicyTools } from './policies.ts';

type Option = (line: Statement, policy: JsonObject) => void;

/** What makes the key of a client address. */
const KEY_OPTIONS: Readonly<Record<string, Option>> = {
  seed: (line, policy) => void (policy['seed'] = bounded(line, 0xffff_ffff)),
  ipv4_prefix: (line, policy) => void (policy['ipv4_prefix'] = bounded(line, 32)),
  ipv6_prefix: (line, policy) => void (policy['ipv6_prefix'] = bounded(line, 128)),
  nat64: (line, policy) => {
    const known = policy['nat64'];
    policy['nat64'] = [...(Array.isArray(known) ? known : []), ...texts(some(line, 1))];
  },
};

const OPTIONS: Readonly<Record<string, Option>> = {
  on_failure: (line, policy) => void (policy['on_failure'] = choice(line, ['home', 'all'])),
  mapping: (line, policy) => void (policy['mapping'] = choice(line, ['modulo', 'rendezvous'])),
  ...KEY_OPTIONS,
  balance_factor: (line, policy) => {
    const token = one(line);
    const factor = /^\d+(\.\d+)?$/.test(token.text) ? Number(token.text) : Number.NaN;
    if (!(factor >= 1 && factor <= 100)) {
      throw failure(token, `bad balance_factor '${token.text}': write 1 to 100, such as 1.25`);
    }
    policy['balance_factor'] = factor;
  },
};

/**
 * `ip_hash { on_failure home|all; mapping modulo|rendezvous; seed <n>; ipv4_prefix <n>; ipv6_prefix <n>;
 * nat64 <cidr>…; balance_factor <1…100> }`.
 */
export function parseIpHash(line: Statement, tools: PolicyTools): JsonObject {
  return parseByAddress(line, tools, OPTIONS);
}

/** `source_hash { seed <n>; ipv4_prefix <n>; ipv6_prefix <n>; nat64 <cidr>… }`. */
export function parseSourceHash(line: Statement, tools: PolicyTools): JsonObject {
  return parseByAddress(line, tools, KEY_OPTIONS);
}

function parseByAddress(
  line: Statement,
  { origins }: PolicyTools,
  options: Readonly<Record<string, Option>>,
): JsonObject {
  some({ ...line, block: null }, 0, 0);
  const policy: JsonObject = { policy: line.name.text };
  for (const option of blockOf(line)) {
    const { text } = option.name;
    const parse = Object.hasOwn(options, text) ? options[text] : undefined;
    if (parse === undefined) {
      throw failure(option.name, `unrecognized option '${text}'${nearestHint(text, Object.keys(options))}`);
    }
    if (text !== 'nat64' && policy[text] !== undefined) throw failure(option.name, `${text} already specified`);
    trackFields([policy], option, origins, () => parse(option, policy));
  }
  return policy;
}

function choice(line: Statement, allowed: readonly string[]): string {
  const token = one(line);
  if (allowed.includes(token.text)) return token.text;
  throw failure(token, `bad ${line.name.text} '${token.text}': write ${allowed.join(' or ')}`);
}

function bounded(line: Statement, max: number): number {
  const token = one(line);
  const value = integer(token, `bad ${line.name.text}`);
  if (value < 0 || value > max) throw failure(token, `bad ${line.name.text} '${token.text}': write 0 to ${max}`);
  return value;
}
