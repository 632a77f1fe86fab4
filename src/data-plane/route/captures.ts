/** Regular expressions of matchers: what their groups caught becomes `{http.regexp.…}`. */
import type { RegexpPlan } from '../../shared/plan/types.ts';
import { toBytes } from './bytes.ts';
import { notesOf } from './notes.ts';
import { compileRegexp, groupText, readable } from './regexp.ts';
import type { RequestView } from './request-view.ts';

/** Searches `value` (bytes) and, where it is found, notes the groups. Linear in the length of `value`. */
export type CapturingTest = (value: string, request: RequestView) => boolean;

/** Throws `ConfigError` with RE2's complaint. */
export function compileCapturing(plan: RegexpPlan): CapturingTest {
  const regexp = compileRegexp(plan.pattern);
  const prefix = plan.name === '' ? null : `${toBytes(plan.name)}.`;
  const named = Object.keys(regexp.namedGroups()).map((name) => [name, toBytes(name)] as const);
  return (value, request) => {
    const { input, show } = readable(value);
    const matcher = regexp.matcher(input);
    if (!matcher.find()) return false;
    const { captures } = notesOf(request);
    const note = (key: string, group: number | string): void => {
      const text = show(groupText(matcher, group));
      captures.set(key, text);
      if (prefix !== null) captures.set(prefix + key, text);
    };
    for (let group = 0; group <= matcher.groupCount(); group += 1) note(String(group), group);
    for (const [name, key] of named) note(key, name);
    return true;
  };
}
