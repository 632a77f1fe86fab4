/**
 * Globs over paths: `*` any run without a slash, `?` one character that is no slash, `[a-z]` and `[^a-z]` classes,
 * `\x` the character itself. In raw patterns `%2F` stands for exactly that escape and `%*` for a run in which an
 * escaped slash is no slash.
 *
 * Own matcher instead of a RegExp: peers choose the path, and several `*` make a backtracking engine polynomial. Here
 * only the last star is ever reopened. That is enough, because no star crosses a slash and so each segment stands alone.
 */
import { ConfigError } from '../../shared/config-error.ts';
import { escapedByte } from './bytes.ts';

/** A raw path holds an escaped byte as 0x100 + byte, see `rawUnits`. */
const ESCAPED = 0x100;
const SLASH = 0x2f;

interface Element {
  /** A run of any length, each character of which passes `test`. */
  readonly star: boolean;
  test(code: number): boolean;
}

export type Glob = (text: string) => boolean;

/** Compiles a pattern for normal paths (`path.ts`). Throws `ConfigError` for a class that is not closed. */
export function compileGlob(pattern: string): Glob {
  return matcher(elementsOf(pattern, false));
}

/** Compiles a pattern that holds `%`; the function takes what `rawUnits` makes of a lower-case path. */
export function compileRawGlob(pattern: string): Glob {
  return matcher(elementsOf(pattern, true));
}

/** One character a unit: a byte as it is, or 0x100 + byte for an escape. */
export function rawUnits(path: string): string {
  let units = '';
  for (let at = 0; at < path.length; at += 1) {
    const byte = escapedByte(path, at);
    if (byte < 0) {
      units += path[at]!;
    } else {
      units += String.fromCharCode(ESCAPED + byte);
      at += 2;
    }
  }
  return units;
}

function matcher(elements: readonly Element[]): Glob {
  return (text) => {
    let element = 0;
    let at = 0;
    let star = -1;
    let starEnd = 0;
    while (at < text.length || element < elements.length) {
      const wanted = elements[element];
      if (wanted?.star === true) {
        star = element;
        starEnd = at;
        element += 1;
      } else if (wanted !== undefined && at < text.length && wanted.test(text.charCodeAt(at))) {
        element += 1;
        at += 1;
      } else if (star >= 0 && starEnd < text.length && elements[star]!.test(text.charCodeAt(starEnd))) {
        starEnd += 1;
        at = starEnd;
        element = star + 1;
      } else {
        return false;
      }
    }
    return true;
  };
}

function elementsOf(pattern: string, raw: boolean): Element[] {
  const elements: Element[] = [];
  for (let at = 0; at < pattern.length; at += 1) {
    const character = pattern[at]!;
    if (raw && character === '%' && pattern[at + 1] === '*') {
      elements.push({ star: true, test: (code) => code !== SLASH });
      at += 1;
    } else if (raw && escapedByte(pattern, at) >= 0) {
      const escape = ESCAPED + escapedByte(pattern, at);
      elements.push({ star: false, test: (code) => code === escape });
      at += 2;
    } else if (character === '*') {
      elements.push({ star: true, test: isNoSlash });
    } else if (character === '?') {
      elements.push({ star: false, test: isNoSlash });
    } else if (character === '[') {
      const end = classEnd(pattern, at);
      elements.push({ star: false, test: classTest(pattern.slice(at + 1, end)) });
      at = end;
    } else {
      if (character === '\\') at += 1;
      elements.push(literal(pattern, at));
    }
  }
  return elements;
}

function isNoSlash(code: number): boolean {
  return decoded(code) !== SLASH;
}

/** The byte a unit stands for, letters in lower case: an escape keeps the case it spells. */
function decoded(code: number): number {
  if (code < ESCAPED) return code;
  const byte = code - ESCAPED;
  return byte >= 0x41 && byte <= 0x5a ? byte + 0x20 : byte;
}

function literal(pattern: string, at: number): Element {
  if (at >= pattern.length) throw new ConfigError(`path pattern '${pattern}' ends in a backslash; remove it`);
  const wanted = pattern.charCodeAt(at);
  return { star: false, test: (code) => decoded(code) === wanted };
}

function classEnd(pattern: string, start: number): number {
  const first = pattern[start + 1] === '^' ? start + 2 : start + 1;
  const end = pattern.indexOf(']', first + 1);
  if (end >= 0) return end;
  throw new ConfigError(
    `path pattern '${pattern}' opens a class with '[' and does not close it; write '\\[' for the character`,
  );
}

function classTest(text: string): (code: number) => boolean {
  const negated = text.startsWith('^');
  const ranges: (readonly [low: number, high: number])[] = [];
  for (let at = negated ? 1 : 0; at < text.length; at += 1) {
    const low = text.charCodeAt(at);
    const isRange = text[at + 1] === '-' && at + 2 < text.length;
    ranges.push([low, isRange ? text.charCodeAt(at + 2) : low]);
    if (isRange) at += 2;
  }
  return (code) => {
    const byte = decoded(code);
    return byte !== SLASH && ranges.some(([low, high]) => byte >= low && byte <= high) !== negated;
  };
}
