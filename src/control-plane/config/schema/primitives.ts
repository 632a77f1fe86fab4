/**
 * The building blocks of the config schemas. Every block says in its own words what it expected and
 * what it found; where it was found (JSON path, file and line) is added by `from-json.ts`.
 */
import { z } from 'zod';
import { formatDuration, parseDuration } from './duration.ts';
import { nearestWord } from './near-miss.ts';

/** Marks an issue about a word that Caddy knows and this version does not. */
export const NOT_YET = 'notYet';

/** A field of Caddy's that does not exist yet: absent passes, anything else is refused by its word. */
export function notYet(word: string): z.ZodType<undefined> {
  return absent(`'${word}' is not supported yet`);
}

/** A field that must be absent; `sentence` is the whole refusal. */
export function absent(sentence: string): z.ZodType<undefined> {
  return z
    .custom<undefined>((value) => value === undefined, { error: sentence, params: { [NOT_YET]: true } })
    .optional();
}

/** A field of which only the values that ask for nothing new are accepted. */
export function only<T extends string | number | boolean>(
  values: readonly T[],
  word: string,
): z.ZodType<T | undefined> {
  return z
    .custom<T>((value) => values.some((allowed) => allowed === value), {
      error: `'${word}' is not supported yet`,
      params: { [NOT_YET]: true },
    })
    .optional();
}

/** An object without unknown fields. */
export function object<S extends z.ZodRawShape>(shape: S): z.ZodObject<S, z.core.$strict> {
  return z.strictObject(shape, {
    error: (issue) => {
      if (issue.code !== 'unrecognized_keys') return `expected an object, found ${describe(issue.input)}`;
      return `unknown field ${issue.keys.map((key) => unknownField(key, Object.keys(shape))).join(', ')}`;
    },
  });
}

function unknownField(key: string, known: readonly string[]): string {
  const meant = nearestWord(key, known);
  return meant === null ? `'${key}'` : `'${key}' (did you mean '${meant}'?)`;
}

export function list<T>(item: z.ZodType<T>): z.ZodType<T[]> {
  return z.array(item, { error: (issue) => `expected a list, found ${describe(issue.input)}` });
}

/** An object whose keys are free. */
export function mapOf<T>(value: z.ZodType<T>): z.ZodType<Record<string, T>> {
  return z.record(z.string(), value, { error: (issue) => `expected an object, found ${describe(issue.input)}` });
}

/** `schema`, or null when the field is absent. */
export function orNull<T>(schema: z.ZodType<T>): z.ZodType<T | null> {
  return schema.optional().transform((value) => value ?? null);
}

/** `schema` applied to `{}` when the field is absent, so that the defaults inside it hold. */
export function orDefaults<T>(schema: z.ZodType<T>): z.ZodType<T> {
  return schema.prefault({});
}

/** Anything `read` makes a value of; undefined refuses. */
export function accept<T>(
  expected: string,
  read: (value: unknown) => T | undefined,
  tell: (value: unknown) => string = describe,
): z.ZodType<T> {
  return z.unknown().transform((value, context) => {
    const result = read(value);
    if (result !== undefined) return result;
    context.addIssue({ code: 'custom', message: `expected ${expected}, found ${tell(value)}` });
    return z.NEVER;
  });
}

export function flag(): z.ZodType<boolean> {
  return accept('true or false', (value) => (typeof value === 'boolean' ? value : undefined));
}

export function text(expected = 'a text'): z.ZodType<string> {
  return accept(expected, (value) => (typeof value === 'string' ? value : undefined));
}

/** A text that `pattern` matches. */
export function textLike(pattern: RegExp, expected: string): z.ZodType<string> {
  return accept(expected, (value) => (typeof value === 'string' && pattern.test(value) ? value : undefined));
}

/** One of a few words; letter case does not matter, the listed spelling is what comes out. */
export function oneOf<const T extends string>(words: readonly T[]): z.ZodType<T> {
  return accept(listWords(words), (value) => {
    if (typeof value !== 'string') return undefined;
    return words.find((word) => word.toLowerCase() === value.toLowerCase());
  });
}

/** A whole number from `min` to `max`, both included. */
export function wholeNumber(min: number, max: number): z.ZodType<number> {
  return accept(`a whole number from ${min} to ${max}`, (value) => {
    const fits = typeof value === 'number' && Number.isInteger(value) && value >= min && value <= max;
    return fits ? value : undefined;
  });
}

/** A share from 0 to 1. */
export function fraction(): z.ZodType<number> {
  return accept('a number from 0 to 1', (value) => {
    return typeof value === 'number' && value >= 0 && value <= 1 ? value : undefined;
  });
}

/** Milliseconds from a duration between `minMs` and `maxMs`, both included. */
export function duration(minMs: number, maxMs: number): z.ZodType<number> {
  const expected = `a duration from ${formatDuration(minMs)} to ${formatDuration(maxMs)}`;
  const read = (value: unknown): number | undefined => {
    const ms = parseDuration(value);
    return ms !== undefined && ms >= minMs && ms <= maxMs ? ms : undefined;
  };
  return accept(`${expected} (whole nanoseconds, or text such as 1m30s)`, read, describeDuration);
}

/** Nanoseconds are what JSON says; a Caddyfile said `6m`. */
export function describeDuration(value: unknown): string {
  if (typeof value !== 'number' || value === 0) return describe(value);
  const ms = value / 1e6;
  return `${value} (${Number.isInteger(ms) ? formatDuration(ms) : `${ms}ms`})`;
}

/** An HTTP status code, or 1 … 5 for a class of them. */
export function statusPattern(): z.ZodType<number> {
  return accept('a status code from 100 to 599, or 1 to 5 for a class (2 = 2xx)', (value) => {
    if (typeof value !== 'number' || !Number.isInteger(value)) return undefined;
    return (value >= 1 && value <= 5) || (value >= 100 && value <= 599) ? value : undefined;
  });
}

/** A found value in an error message: short, and on one line. */
export function describe(value: unknown): string {
  if (value === undefined) return 'nothing';
  if (Array.isArray(value)) return 'a list';
  if (value !== null && typeof value === 'object') return 'an object';
  const json = JSON.stringify(value) ?? typeof value;
  return json.length > 80 ? `${json.slice(0, 77)}…` : json;
}

/** `'a', 'b' or 'c'`. */
export function listWords(words: readonly string[]): string {
  const quoted = words.map((word) => `'${word}'`);
  return quoted.length < 2 ? quoted.join('') : `${quoted.slice(0, -1).join(', ')} or ${quoted.at(-1)}`;
}
