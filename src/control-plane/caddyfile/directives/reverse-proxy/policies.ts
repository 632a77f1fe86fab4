import type { Origins } from '../../context.ts';
import type { JsonObject } from '../../json.ts';
import { failure } from '../../syntax/failure.ts';
import { blockOf, flag, integer, oneWithBlock, some, wrongCount } from '../../syntax/read.ts';
import type { Statement } from '../../syntax/statement.ts';
import { parseCookie } from './policy-cookie.ts';
import { parseIpHash, parseSourceHash } from './policy-ip-hash.ts';

/** Parses the policy's own line: its name, arguments and block. */
type PolicyParser = (line: Statement, tools: PolicyTools) => JsonObject;

export interface PolicyTools {
  readonly origins: Origins;
  /** Reads the policy behind `fallback`. */
  readonly nested: (line: Statement) => JsonObject;
}

function plain(line: Statement): JsonObject {
  flag(line);
  return { policy: line.name.text };
}

const randomChoose: PolicyParser = (line) => {
  const [count] = some(line, 1, 1);
  const choose = count === undefined ? 0 : integer(count, 'invalid choice count');
  if (choose < 2) throw failure(count ?? line.name, `random_choose needs at least 2 to choose from, not ${choose}`);
  return { policy: 'random_choose', choose };
};

/** Without weights of its own it uses those of the upstreams. */
const weighted: PolicyParser = (line) => {
  const weights = some(line, 0).map((token) => {
    const weight = integer(token, 'invalid weight value');
    if (weight < 0) throw failure(token, `invalid weight value '${token.text}': weights are 0 or more`);
    return weight;
  });
  if (weights.length === 0) return { policy: 'weighted_round_robin' };
  if (weights.every((weight) => weight === 0)) throw failure(line.name, 'at least one weight must be more than 0');
  return { policy: 'weighted_round_robin', weights };
};

/** `header <field>` and `query <key>`, with the policy for requests that have none. */
function keyed(field: 'field' | 'key'): PolicyParser {
  return (line, { nested }) => {
    const policy: JsonObject = { policy: line.name.text, [field]: oneWithBlock(line).text };
    for (const option of blockOf(line)) {
      if (option.name.text !== 'fallback') throw failure(option.name, `unrecognized option '${option.name.text}'`);
      if (policy['fallback'] !== undefined) throw failure(option.name, 'fallback selection policy already specified');
      policy['fallback'] = nested(option);
    }
    return policy;
  };
}

const POLICIES: Readonly<Record<string, PolicyParser>> = {
  random: plain,
  random_choose: randomChoose,
  least_conn: plain,
  round_robin: plain,
  weighted_round_robin: weighted,
  first: plain,
  weighted_least_conn: plain,
  ip_hash: parseIpHash,
  client_ip_hash: parseIpHash,
  source_hash: parseSourceHash,
  tuple_hash: plain,
  quic_cid: plain,
  uri_hash: plain,
  query: keyed('key'),
  header: keyed('field'),
  cookie: parseCookie,
};

/** The policy behind `lb_policy` or `fallback`. */
export function parsePolicy(line: Statement, origins: Origins): JsonObject {
  const [name, ...args] = line.args;
  if (name === undefined) throw wrongCount(line);
  const parse = Object.hasOwn(POLICIES, name.text) ? POLICIES[name.text] : undefined;
  if (parse === undefined) {
    const what = `module not registered: http.reverse_proxy.selection_policies.${name.text}`;
    throw failure(name, `${what}; known policies are ${Object.keys(POLICIES).join(', ')}`);
  }
  const nested = (inner: Statement): JsonObject => parsePolicy(inner, origins);
  return origins.mark(parse({ name, args, block: line.block }, { origins, nested }), line.name);
}
