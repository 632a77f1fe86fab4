/** Operations on response fields, and the order in which a response takes them. */
import type { ResponseHeaderOpsPlan, ResponseRequirePlan } from '../../shared/plan/types.ts';
import { toBytes } from './bytes.ts';
import { findField, setField } from './field-list.ts';
import { compileHeaderOps, type CompiledResponseOps } from './header-ops.ts';
import type { ProcessFacts } from './placeholder/placeholder.ts';
import { compileWildcard } from './wildcard.ts';

type ResponseTest = (status: number, fields: readonly string[]) => boolean;

/** For `header_down` and deferred `header` operations. Throws `ConfigError`. */
export function compileResponseOps(plan: ResponseHeaderOpsPlan, facts: ProcessFacts): CompiledResponseOps {
  const ops = compileHeaderOps(plan, 'response', facts);
  if (plan.require === null) return { apply: (request, _status, fields) => ops.apply(request, fields) };
  const fits = compileRequire(plan.require);
  return {
    apply(request, status, fields) {
      if (fits(status, fields)) ops.apply(request, fields);
    },
  };
}

/** A condition on the response can only be looked at when there is one, so it defers by itself. */
export function isDeferred(plan: ResponseHeaderOpsPlan): boolean {
  return plan.deferred || plan.require !== null;
}

/** Fields that were set before there was a response: they stand in front, and the response adds its own. */
export function prependFields(early: readonly string[]): CompiledResponseOps {
  return { apply: (_request, _status, fields) => void fields.unshift(...early) };
}

/** The fields of a response of our own, over those set early: each name it has replaces what was there. */
export function overlayFields(early: readonly string[], own: readonly string[]): string[] {
  const fields = [...early];
  for (const [lower, lines] of groupByName(own)) setField(fields, lower, lines);
  return fields;
}

/** Status codes, or classes as 1 to 5; and fields as a `header` matcher has them. All parts must fit. */
function compileRequire(plan: ResponseRequirePlan): ResponseTest {
  const statuses = plan.status;
  const fieldTests = Object.entries(plan.headers).map(([name, values]) => compileFieldTest(name, values));
  return (status, fields) =>
    (statuses.length === 0 || statuses.includes(status) || statuses.includes(Math.floor(status / 100))) &&
    fieldTests.every((test) => test(fields));
}

function compileFieldTest(name: string, values: readonly string[] | null): (fields: readonly string[]) => boolean {
  const lower = name.toLowerCase();
  if (values === null) return (fields) => findField(fields, lower, 0) < 0;
  if (values.length === 0) return (fields) => findField(fields, lower, 0) >= 0;
  const tests = values.map((value) => compileWildcard(toBytes(value)));
  return (fields) => {
    for (let at = findField(fields, lower, 0); at >= 0; at = findField(fields, lower, at + 2)) {
      if (tests.some((test) => test(fields[at + 1]!))) return true;
    }
    return false;
  };
}

function groupByName(fields: readonly string[]): Map<string, string[]> {
  const groups = new Map<string, string[]>();
  for (let at = 0; at < fields.length; at += 2) {
    const lower = fields[at]!.toLowerCase();
    const lines = groups.get(lower);
    if (lines === undefined) groups.set(lower, [fields[at]!, fields[at + 1]!]);
    else lines.push(fields[at]!, fields[at + 1]!);
  }
  return groups;
}
