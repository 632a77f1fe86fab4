import { duration, one } from './syntax/read.ts';
import type { Statement } from './syntax/statement.ts';

/** `drain off|immediate|<duration>`: a word, or nanoseconds. */
export function readDrain(line: Statement): string | number {
  const token = one(line);
  return token.text === 'off' || token.text === 'immediate' ? token.text : duration(token, 'bad drain');
}
