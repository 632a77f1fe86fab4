import type { JsonObject } from '../../json.ts';
import { failure } from '../../syntax/failure.ts';
import { some, texts, wrongCount } from '../../syntax/read.ts';
import type { Statement } from '../../syntax/statement.ts';
import type { Token } from '../../syntax/token.ts';
import { subrouteOf } from '../blocks.ts';
import { statusOf } from '../respond.ts';
import type { ProxyDraft, SubdirectiveTable } from './draft.ts';

/** What is done with an upstream's response before the client sees it. */
export const RESPONSE_SUBDIRECTIVES: SubdirectiveTable = {
  handle_response: (line, draft) => {
    const [matcher, surplus] = line.args;
    if (surplus !== undefined) {
      const found = `[${texts(line.args).join(' ')}]`;
      const rule = 'only a single response matcher name is allowed';
      throw failure(surplus, `too many arguments for 'handle_response': ${rule}, but got: ${found}`);
    }
    const subroute = subrouteOf(line, draft.context, true);
    const routes = subroute['routes'] ?? [];
    draft.responses.push(entry(line, matcher, draft, { routes }));
  },
  replace_status: (line, draft) => {
    if (line.block !== null) {
      throw failure(line.name, "cannot define routes for 'replace_status', use 'handle_response' instead.");
    }
    const args = some(line, 1, 2);
    const status = args.at(-1);
    if (status === undefined) throw wrongCount(line);
    const matcher = args.length === 2 ? args[0] : undefined;
    draft.replacements.push(entry(line, matcher, draft, { status_code: statusOf(status.text) }));
  },
};

function entry(line: Statement, matcher: Token | undefined, draft: ProxyDraft, fields: JsonObject): JsonObject {
  const made = matcher === undefined ? fields : { match: namedMatcher(matcher, draft), ...fields };
  return draft.context.adaptation.origins.mark(made, line.name);
}

function namedMatcher(token: Token, draft: ProxyDraft): JsonObject {
  if (!token.text.startsWith('@')) throw failure(token, "must use a named response matcher, starting with '@'");
  const matcher = draft.responseMatchers.get(token.text);
  if (matcher === undefined) {
    throw failure(token, `no named response matcher defined with name '${token.text.slice(1)}'`);
  }
  return matcher;
}

/** Replacements, then the rest; what has no matcher goes last, for the first that matches wins. */
export function responseEntries(draft: ProxyDraft): JsonObject[] {
  const all = [...draft.replacements, ...draft.responses];
  const matched = all.filter((made) => made['match'] !== undefined);
  return [...matched, ...all.filter((made) => made['match'] === undefined)];
}
