import { lowerAscii, toBytes } from '../bytes.ts';
import { compileGlob, compileRawGlob, rawUnits } from '../glob.ts';
import { cleanPath, type NormalPath, type PathReader } from '../path.ts';
import { pathOf } from '../target.ts';
import { compileWildcard } from '../wildcard.ts';
import type { MatchContext, Matcher, PlanOf } from './matcher.ts';

/** Takes the target as it stands and its normal path. */
type PathTest = (target: string, path: NormalPath) => boolean;

/**
 * Any case, on the normal form of the path. One star at an end is a prefix or suffix, stars at both ends a substring,
 * across slashes; other patterns are globs (`glob.ts`), whose stars stop at a slash. A pattern with `//` sees runs of
 * slashes, one with `%` sees the escapes. Throws `ConfigError` for a broken glob.
 */
export function compilePath(plan: PlanOf<'path'>, context: MatchContext): Matcher {
  const tests = plan.paths.map((path) => compilePattern(lowerAscii(toBytes(path))));
  const { readPath } = context;
  const [only] = tests;
  if (tests.length === 1) return ({ target }) => only!(target, readPath(target));
  return (request) => {
    const { target } = request;
    const path = readPath(target);
    for (const test of tests) {
      if (test(target, path)) return true;
    }
    return false;
  };
}

/** As `compilePath`, for a target that no request stands behind. */
export function compileTargetTest(paths: readonly string[], readPath: PathReader): (target: string) => boolean {
  const tests = paths.map((path) => compilePattern(lowerAscii(toBytes(path))));
  return (target) => tests.some((test) => test(target, readPath(target)));
}

function compilePattern(pattern: string): PathTest {
  if (pattern === '*' || pattern === '/*') return (target) => pattern === '*' || target.startsWith('/');
  const mergeSlashes = !pattern.includes('//');
  if (pattern.includes('%')) {
    const glob = compileRawGlob(pattern);
    return (target) => glob(rawUnits(lowerAscii(cleanPath(pathOf(target), mergeSlashes))));
  }
  const test = hasOnlyOuterStars(pattern) ? compileWildcard(pattern) : compileGlob(pattern);
  return mergeSlashes ? (_target, path) => test(path.merged) : (_target, path) => test(path.unmerged);
}

function hasOnlyOuterStars(pattern: string): boolean {
  return pattern.includes('*') && !pattern.slice(1, -1).includes('*');
}
