import { setField, trackFields } from '../../context.ts';
import type { JsonObject } from '../../json.ts';
import { failure } from '../../syntax/failure.ts';
import { blockOf, flag, one, secondsOrDuration, texts } from '../../syntax/read.ts';
import type { Statement } from '../../syntax/statement.ts';
import type { Token } from '../../syntax/token.ts';
import { nearestHint } from '../../unknown-word.ts';
import type { PolicyTools } from './policies.ts';

interface CookieDraft {
  readonly policy: JsonObject;
  readonly secrets: Token[];
  readonly tools: PolicyTools;
}

type Option = (line: Statement, draft: CookieDraft) => void;

/** Cookie attribute values as browsers spell them. */
const SAME_SITE: ReadonlyMap<string, string> = new Map([
  ['lax', 'Lax'],
  ['strict', 'Strict'],
  ['none', 'None'],
]);

const OPTIONS: Readonly<Record<string, Option>> = {
  name: (line, draft) => setOnce(draft, 'name', one(line).text, line.name),
  secret: (line, draft) => void draft.secrets.push(one(line)),
  max_age: setMaxAge,
  cookie_lifetime: setMaxAge,
  same_site: (line, draft) => {
    const token = one(line);
    const value = SAME_SITE.get(token.text.toLowerCase());
    if (value === undefined) throw failure(token, `bad same_site '${token.text}': write lax, strict or none`);
    setOnce(draft, 'same_site', value, line.name);
  },
  secure: setSwitch,
  http_only: setSwitch,
  partitioned: setSwitch,
  path: (line, draft) => setOnce(draft, 'path', one(line).text, line.name),
  domain: (line, draft) => setOnce(draft, 'domain', one(line).text, line.name),
  format: (line, draft) => {
    const token = one(line);
    if (token.text !== 'v1' && token.text !== 'caddy') {
      throw failure(token, `bad format '${token.text}': write v1 or caddy`);
    }
    setOnce(draft, 'format', token.text, line.name);
  },
  fallback: (line, draft) => setOnce(draft, 'fallback', draft.tools.nested(line), line.name),
};

/**
 * `cookie [<name> [<secret>]] { … }`. The first secret, which signs, stands where Caddy's does; further
 * ones, which only verify, go to `secrets`. A bare number in `max_age` or `cookie_lifetime` counts seconds.
 */
export function parseCookie(line: Statement, tools: PolicyTools): JsonObject {
  const [name, secret, surplus] = line.args;
  if (surplus !== undefined) throw failure(surplus, `wrong argument count: cookie takes a name and a secret`);
  const draft: CookieDraft = { policy: { policy: 'cookie' }, secrets: [], tools };
  if (name !== undefined) draft.policy['name'] = name.text;
  if (secret !== undefined) draft.secrets.push(secret);
  for (const option of blockOf(line)) {
    const { text } = option.name;
    const parse = Object.hasOwn(OPTIONS, text) ? OPTIONS[text] : undefined;
    if (parse === undefined) {
      throw failure(option.name, `unrecognized option '${text}'${nearestHint(text, Object.keys(OPTIONS))}`);
    }
    trackFields([draft.policy], option, tools.origins, () => parse(option, draft));
  }
  const [first, ...further] = draft.secrets;
  if (first !== undefined) setField(draft.policy, 'secret', first.text, first, tools.origins);
  if (further.length > 0) draft.policy['secrets'] = texts(further);
  return draft.policy;
}

function setOnce(draft: CookieDraft, key: string, value: JsonObject[string], token: Token): void {
  if (draft.policy[key] !== undefined) throw failure(token, `cookie ${key} already specified`);
  draft.policy[key] = value;
}

function setMaxAge(line: Statement, draft: CookieDraft): void {
  const token = one(line);
  const value = secondsOrDuration(token, 'bad duration value');
  if (value <= 0) throw failure(token, `cookie ${line.name.text} must be more than 0, not ${token.text}`);
  setOnce(draft, 'max_age', value, line.name);
}

/** The bare word is `on`. */
function setSwitch(line: Statement, draft: CookieDraft): void {
  const [token] = line.args;
  if (token === undefined) {
    flag(line);
    setOnce(draft, line.name.text, true, line.name);
    return;
  }
  const { text } = one(line);
  const isOn = text === 'on' || text === 'true';
  if (!isOn && text !== 'off' && text !== 'false') {
    throw failure(token, `bad ${line.name.text} '${text}': write on or off`);
  }
  setOnce(draft, line.name.text, isOn, line.name);
}
