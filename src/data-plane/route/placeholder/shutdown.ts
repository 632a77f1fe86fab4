/** `{http.shutting_down}` and `{http.time_until_shutdown}`. */
import type { Placeholder } from './placeholder.ts';

/** What a worker knows of the end of its process. It changes while compiled placeholders read it. */
export interface ShutdownFacts {
  /** Wall-clock milliseconds when listening ends; null = nobody has asked for an end. */
  readonly atMs: number | null;
}

const NEVER: ShutdownFacts = Object.freeze({ atMs: null });

/** null when the name is not one of these. */
export function shutdownPlaceholder(name: string, facts: ShutdownFacts = NEVER): Placeholder | null {
  switch (name) {
    case 'http.shutting_down':
      return { read: () => String(facts.atMs !== null) };
    case 'http.time_until_shutdown':
      return { read: ({ wallMs }) => (facts.atMs === null ? '' : goDuration(Math.max(0, facts.atMs - wallMs))) };
    default:
      return null;
  }
}

/** As Go writes durations: `1m4.5s`, `250ms`. */
function goDuration(ms: number): string {
  const whole = Math.round(ms);
  if (whole > 0 && whole < 1000) return `${whole}ms`;
  const hours = Math.floor(whole / 3_600_000);
  const minutes = Math.floor(whole / 60_000) % 60;
  const seconds = `${(whole % 60_000) / 1000}s`;
  if (hours > 0) return `${hours}h${minutes}m${seconds}`;
  return minutes > 0 ? `${minutes}m${seconds}` : seconds;
}
