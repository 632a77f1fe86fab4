/** Every tenth server answers only after its next probe is due. */
export const SLOW_EVERY = 10;
export const SLOW_ANSWER_MS = 1500;

/** Loopback address of a server: 127.77.0.1, 127.77.0.2, … */
export function addressOf(index: number): string {
  return `127.77.${Math.floor(index / 250)}.${(index % 250) + 1}`;
}
