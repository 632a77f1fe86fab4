/**
 * The normal form of a path, for *matching only*. What goes upstream is never taken from here: a path is not ours
 * to tidy. Matching a tidied copy keeps `/public/%2e%2e/admin` from passing as `/public/…`.
 */
import { decodePercent, lowerAscii } from './bytes.ts';
import { pathOf } from './target.ts';

/**
 * Resolves `.` and `..` segments; with `mergeSlashes` runs of slashes become one. A slash at the end stays. What does
 * not begin with a slash (`*`) comes back as it is.
 */
export function cleanPath(path: string, mergeSlashes: boolean): string {
  if (!path.startsWith('/')) return path;
  if (!path.includes('/.') && !(mergeSlashes && path.includes('//'))) return path;
  const segments = path.slice(1).split('/');
  const last = segments.length - 1;
  const kept: string[] = [];
  segments.forEach((segment, index) => {
    if (segment === '..') kept.pop();
    else if (segment !== '.' && (segment !== '' || (!mergeSlashes && index < last))) kept.push(segment);
  });
  const closing = kept.length > 0 && path.endsWith('/') ? '/' : '';
  return `/${kept.join('/')}${closing}`;
}

/** Path of a target as regular expressions see it: decoded and clean, letter case as received. */
export function readablePath(target: string): string {
  return cleanPath(decodePercent(pathOf(target)), true);
}

/** Path of a target as patterns see it: decoded, clean, lower case. */
export interface NormalPath {
  readonly merged: string;
  /** Runs of slashes kept, for patterns that hold `//`. */
  readonly unmerged: string;
}

/** Reads the normal path of a target. */
export type PathReader = (target: string) => NormalPath;

/**
 * A reader that remembers the last target, because the path matchers of one router look at the same one in turn.
 * Belongs to one router; holds one string.
 */
export function createPathReader(): PathReader {
  let lastTarget = '';
  let lastPath: NormalPath = { merged: '', unmerged: '' };
  return (target) => {
    if (target === lastTarget) return lastPath;
    const path = lowerAscii(decodePercent(pathOf(target)));
    const merged = cleanPath(path, true);
    lastPath = { merged, unmerged: path.includes('//') ? cleanPath(path, false) : merged };
    lastTarget = target;
    return lastPath;
  };
}
