import type { Directive, SiteContext, SiteValue } from '../context.ts';
import type { JsonObject } from '../json.ts';
import { failure } from '../syntax/failure.ts';
import type { Statement } from '../syntax/statement.ts';
import type { Token } from '../syntax/token.ts';
import { subrouteOf } from './blocks.ts';

const STATUS = '{http.error.status_code}';

/** `handle_errors [<code>|<Nxx>…] { … }`. */
export const handleErrors: Directive = {
  name: 'handle_errors',
  parse(statement: Statement, context: SiteContext): SiteValue[] {
    const inner = subrouteOf(statement, context, true);
    const route: JsonObject = { handle: [inner] };
    if (statement.args.length > 0) route['match'] = [{ expression: codesExpression(statement.args) }];
    context.adaptation.origins.mark(route, statement.name);
    return [{ kind: 'errors', subroute: { handler: 'subroute', routes: [route] } }];
  },
};

/** Ranges first, then the single codes in one list. */
function codesExpression(tokens: readonly Token[]): string {
  const codes: string[] = [];
  const terms: string[] = [];
  for (const token of tokens) {
    const { text } = token;
    if (/^\dxx$/.test(text)) terms.push(`${STATUS} >= ${text[0]}00 && ${STATUS} <= ${text[0]}99`);
    else if (/^\d{3}$/.test(text)) codes.push(text);
    else throw failure(token, `bad status value '${text}': write a code such as 404 or a class such as 4xx`);
  }
  if (codes.length > 0) terms.push(`${STATUS} in [${codes.join(', ')}]`);
  return terms.join(' || ');
}
