import type { SiteContext, SiteValue } from '../context.ts';
import type { JsonObject } from '../json.ts';
import { parseMatcherDefinition } from '../matchers/set.ts';
import { DIRECTIVES } from '../registry.ts';
import { failure, lineFailure, within } from '../syntax/failure.ts';
import type { Statement } from '../syntax/statement.ts';
import { directiveHint } from '../unknown-word.ts';

/** Directives that say something about the whole site and mean nothing in a block. */
const SITE_ONLY: ReadonlySet<SiteValue['kind']> = new Set(['bind', 'log', 'errors', 'tls']);

/** The lines of a site: matchers first, wherever they stand, then the directives in order. */
export function parseSite(statements: readonly Statement[], context: SiteContext, braced: boolean): SiteValue[] {
  const inner = withMatchers(statements, context);
  return statements.flatMap((statement) => {
    if (isMatcher(statement)) return [];
    const directive = DIRECTIVES.get(statement.name.text);
    if (directive === undefined) throw unknownDirective(statement, braced);
    return within(directive.name, () => directive.parse(statement, inner));
  });
}

/** The lines of a block inside a site, such as `handle`. */
export function parseBlock(statements: readonly Statement[], context: SiteContext): SiteValue[] {
  const inner = withMatchers(statements, context);
  return statements.flatMap((statement) => {
    if (isMatcher(statement)) return [];
    const { text } = statement.name;
    const directive = DIRECTIVES.get(text);
    if (directive === undefined) {
      const nesting = ' - are you sure your Caddyfile structure (nesting and braces) is correct?';
      const hint = directiveHint(text, DIRECTIVES.keys()) || nesting;
      throw failure(statement.name, `unrecognized directive: ${text}${hint}`);
    }
    const values = within(directive.name, () => directive.parse(statement, inner));
    if (values.some((value) => SITE_ONLY.has(value.kind))) {
      throw failure(statement.name, `directive '${text}' belongs to the site and cannot be used in a block`);
    }
    return values;
  });
}

function unknownDirective(statement: Statement, braced: boolean): Error {
  const { name, block } = statement;
  const what = `unrecognized directive: ${name.text}${directiveHint(name.text, DIRECTIVES.keys())}`;
  const looksLikeSite = !braced && block === null && /[.:]/.test(name.text);
  if (!looksLikeSite) return lineFailure(name, what);
  const hint = 'If so, you must use curly braces around each site to separate their configurations.';
  return lineFailure(name, `${what}\nDid you mean to define a second site? ${hint}`);
}

function isMatcher(statement: Statement): boolean {
  return statement.name.quote === '' && statement.name.text.startsWith('@');
}

function withMatchers(statements: readonly Statement[], context: SiteContext): SiteContext {
  const defined = new Map<string, JsonObject>();
  for (const statement of statements) {
    if (!isMatcher(statement)) continue;
    const { name } = statement;
    if (name.text === '@') throw failure(name, 'a matcher needs a name after the @');
    if (defined.has(name.text)) throw failure(name, `matcher is defined more than once: ${name.text}`);
    defined.set(name.text, context.adaptation.origins.mark(parseMatcherDefinition(statement), name));
  }
  return defined.size === 0 ? context : { ...context, matchers: new Map([...context.matchers, ...defined]) };
}
