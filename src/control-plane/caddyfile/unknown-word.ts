/** What a message says after a word that this version does not know: the word that was meant, or where it comes from. */
import { nearestWord } from '../config/schema/near-miss.ts';

/** Directives of Caddy's that the differences page lists as not there. */
const ABSENT_DIRECTIVES: ReadonlySet<string> = new Set([
  'acme_server',
  'file_server',
  'fs',
  'intercept',
  'log_append',
  'log_name',
  'php_fastcgi',
  'push',
  'templates',
  'tracing',
  'try_files',
]);

/** Global options of Caddy's that the differences page lists as not there. */
const ABSENT_GLOBAL_OPTIONS: ReadonlySet<string> = new Set([
  'cert_lifetime',
  'events',
  'filesystem',
  'ocsp_interval',
  'preferred_chains',
]);

const ABSENT = ' (Caddy has it, this version of Holdfast does not: remove it)';

export function directiveHint(word: string, known: Iterable<string>): string {
  if (word === '{') return ' (a block opens on the line of the site or directive it belongs to)';
  return ABSENT_DIRECTIVES.has(word) ? ABSENT : nearestHint(word, known);
}

export function globalOptionHint(word: string, known: Iterable<string>): string {
  return ABSENT_GLOBAL_OPTIONS.has(word) ? ABSENT : nearestHint(word, known);
}

/** ` (did you mean '<word>'?)`, or what may stand there: `: known are …`. */
export function knownHint(word: string, known: readonly string[]): string {
  return nearestHint(word, known) || `: known are ${known.join(', ')}`;
}

/** ` (did you mean '<word>'?)`, or nothing when no known word is near. */
export function nearestHint(word: string, known: Iterable<string>): string {
  const meant = nearestWord(word, [...known]);
  return meant === null ? '' : ` (did you mean '${meant}'?)`;
}
