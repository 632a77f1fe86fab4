import type { MatcherPlan, MatcherSetPlan } from '../../shared/plan/types.ts';

/** Words shown of a long list. */
const MAX_WORDS = 4;

/** Conditions of a route in words: `host a.example, b.example; path /api/*`. */
export function describeMatch(sets: readonly MatcherSetPlan[]): string {
  if (sets.length === 0) return 'always';
  return sets.map((set) => set.map(describeMatcher).join('; ') || 'always').join(' or ');
}

function describeMatcher(plan: MatcherPlan): string {
  const { kind, ...rest } = plan;
  return `${kind} ${describeWords(rest).join(', ')}`.trimEnd();
}

/** Every text in a matcher's options, objects as `key=value`. */
export function describeWords(value: unknown): string[] {
  const words = collect(value);
  return words.length > MAX_WORDS ? [...words.slice(0, MAX_WORDS), `… (${words.length})`] : words;
}

function collect(value: unknown): string[] {
  if (value === null || value === undefined) return [];
  if (typeof value !== 'object') return [typeof value === 'string' ? value : JSON.stringify(value)];
  if (Array.isArray(value)) return value.flatMap(collect);
  return Object.values(value).flatMap((entry: unknown) =>
    isTable(entry)
      ? Object.entries(entry).map(([key, values]) => `${key}=${collect(values).join('|') || '*'}`)
      : collect(entry),
  );
}

function isTable(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
