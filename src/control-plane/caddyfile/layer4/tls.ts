import { setField, type Origins } from '../context.ts';
import { clientAuth } from '../directives/tls/client-auth.ts';
import { newTlsDraft, type TlsDraft } from '../directives/tls/draft.ts';
import { alpn, ciphers, curves, protocols } from '../directives/tls/options.ts';
import type { JsonObject } from '../json.ts';
import { failure } from '../syntax/failure.ts';
import { blockOf, one, some, texts } from '../syntax/read.ts';
import type { Statement } from '../syntax/statement.ts';
import { nearestHint } from '../unknown-word.ts';
import type { Routing } from './routing.ts';

type Option = (line: Statement, draft: TlsDraft) => void;

const OPTIONS: Readonly<Record<string, Option>> = Object.freeze({
  alpn,
  cert_selection: (line, draft) => readInner(line, draft, 'certificate_selection', ['any_tag', 'all_tags']),
  ciphers,
  client_auth: clientAuth,
  curves,
  default_sni: name('default_sni'),
  fallback_sni: name('fallback_sni'),
  match: (line, draft) => readInner(line, draft, 'match', ['sni']),
  protocols,
});

const NOT_YET: readonly string[] = Object.freeze(['drop', 'insecure_secrets_log']);

/** `tls`, or `tls { connection_policy { … } … }`. */
export function parseTls(line: Statement, { adaptation: { origins } }: Routing): JsonObject {
  some({ ...line, block: null }, 0, 0);
  const policies = blockOf(line).map((option) => {
    if (option.name.text !== 'connection_policy') {
      throw failure(option.name, `unrecognized tls option '${option.name.text}': write connection_policy { … }`);
    }
    return parsePolicy(option, origins);
  });
  const handler: JsonObject = { handler: 'tls' };
  if (policies.length > 0) setField(handler, 'connection_policies', policies, line.name, origins);
  return handler;
}

function parsePolicy(line: Statement, origins: Origins): JsonObject {
  some({ ...line, block: null }, 0, 0);
  const draft = newTlsDraft(origins);
  const written = new Set<string>();
  for (const option of blockOf(line)) {
    const { text } = option.name;
    if (NOT_YET.includes(text)) throw failure(option.name, `'${text}' (layer4 tls handler) is not supported yet`);
    const parse = Object.hasOwn(OPTIONS, text) ? OPTIONS[text] : undefined;
    if (parse === undefined) {
      const hint = nearestHint(text, Object.keys(OPTIONS));
      throw failure(option.name, `unrecognized connection_policy option '${text}'${hint}`);
    }
    if (written.has(text)) throw failure(option.name, `${text} already specified`);
    written.add(text);
    parse(option, draft);
  }
  return origins.mark(draft.policy, line.name);
}

function name(field: string): Option {
  return (line, { policy, origins }) => setField(policy, field, one(line).text, line.name, origins);
}

/** `<word> { <field> <value>… }`: lists of texts. */
function readInner(line: Statement, { policy, origins }: TlsDraft, field: string, words: readonly string[]): void {
  const json: JsonObject = origins.mark({}, line.name);
  const lines = blockOf(line);
  some({ ...line, block: null }, 0, 0);
  for (const option of lines) {
    const { text } = option.name;
    if (!words.includes(text)) {
      throw failure(option.name, `unrecognized ${line.name.text} option '${text}': known are ${words.join(', ')}`);
    }
    const known = json[text];
    const values = [...(Array.isArray(known) ? known : []), ...texts(some(option, 1))];
    setField(json, text, values, option.name, origins);
  }
  setField(policy, field, json, line.name, origins);
}
