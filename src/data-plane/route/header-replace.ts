/** Search and replace inside field values. */
import type { HeaderOpsPlan, HeaderReplacePlan } from '../../shared/plan/types.ts';
import { checkFieldName, isOwnField } from './field-list.ts';
import type { ProcessFacts } from './placeholder/placeholder.ts';
import { compileRegexp, compileReplacement, replaceMatches } from './regexp.ts';
import type { RequestView } from './request-view.ts';
import { compileTemplate, type Template } from './template.ts';

export interface FieldReplace {
  /** Everything that is rendered. */
  readonly templates: readonly Template[];
  apply(fields: string[], request: RequestView): void;
}

/** New value of a field, from its old one. */
interface Rule {
  readonly templates: readonly Template[];
  apply(value: string, request: RequestView): string;
}

/** Field `*` means all fields. Throws `ConfigError` for bad names and regular expressions. */
export function compileReplacements(entries: HeaderOpsPlan['replace'], facts: ProcessFacts): FieldReplace[] {
  return entries.flatMap(([name, plans]) => {
    const lower = name === '*' ? null : checkFieldName(name).toLowerCase();
    if (lower !== null && isOwnField(lower)) return [];
    return plans.map((plan) => fieldReplace(lower, compileRule(plan, facts)));
  });
}

function fieldReplace(lower: string | null, rule: Rule): FieldReplace {
  return {
    templates: rule.templates,
    apply(fields, request) {
      for (let at = 0; at < fields.length; at += 2) {
        const name = fields[at]!.toLowerCase();
        if (lower === null ? isOwnField(name) : name !== lower) continue;
        fields[at + 1] = rule.apply(fields[at + 1]!, request);
      }
    },
  };
}

function compileRule(plan: HeaderReplacePlan, facts: ProcessFacts): Rule {
  if (plan.searchRegexp !== '') return regexpRule(plan, facts);
  const search = compileTemplate(plan.search, 'known', { encoding: 'text', facts });
  const replace = compileTemplate(plan.replace, 'known', { facts });
  return {
    templates: [search, replace],
    apply: (value, request) => {
      const text = search.render(request);
      return text === '' ? value : value.replaceAll(text, () => replace.render(request));
    },
  };
}

function regexpRule(plan: HeaderReplacePlan, facts: ProcessFacts): Rule {
  const regexp = compileRegexp(plan.searchRegexp);
  const replacement = compileReplacement(plan.replace, facts);
  return {
    templates: replacement.templates,
    apply: (value, request) => replaceMatches(regexp, value, replacement, request),
  };
}
