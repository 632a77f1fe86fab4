/**
 * Durations as Caddy's JSON writes them: whole nanoseconds, or text in Go's syntax (`1m30s`, `250ms`)
 * with `d` for 24 hours. Inside Holdfast they are milliseconds.
 */
const UNIT_MS: Readonly<Record<string, number>> = Object.freeze({
  ns: 1e-6,
  us: 1e-3,
  µs: 1e-3,
  μs: 1e-3,
  ms: 1,
  s: 1000,
  m: 60_000,
  h: 3_600_000,
  d: 86_400_000,
});

const NS_PER_MS = 1e6;
const SHAPE = /^[+-]?(?:(?:\d+\.?\d*|\.\d+)(?:ns|us|µs|μs|ms|s|m|h|d))+$/;

/**
 * Milliseconds of a duration, undefined when it is none. A fraction of a millisecond is rounded away
 * from zero, so that a small duration never turns into 0, which often means "none".
 */
export function parseDuration(value: unknown): number | undefined {
  if (typeof value === 'number') return Number.isInteger(value) ? roundAway(value / NS_PER_MS) : undefined;
  if (typeof value !== 'string') return undefined;
  if (value === '0') return 0;
  return SHAPE.test(value) ? roundAway(sumParts(value)) : undefined;
}

/** The shortest text of a number of milliseconds: `1m30s`, `250ms`, `1d`. */
export function formatDuration(ms: number): string {
  if (ms === 0) return '0s';
  let rest = Math.abs(ms);
  let text = ms < 0 ? '-' : '';
  for (const unit of ['d', 'h', 'm', 's', 'ms']) {
    const size = UNIT_MS[unit] ?? 1;
    const count = Math.floor(rest / size);
    if (count > 0) text += `${count}${unit}`;
    rest -= count * size;
  }
  return text;
}

function sumParts(text: string): number {
  let ms = 0;
  for (const [, amount, unit] of text.matchAll(/(\d+\.?\d*|\.\d+)(ns|us|µs|μs|ms|s|m|h|d)/g)) {
    ms += Number(amount) * (UNIT_MS[unit ?? ''] ?? Number.NaN);
  }
  return text.startsWith('-') ? -ms : ms;
}

/** 1.1 s is 1100.0000000000002 ms in binary: noise below a nanosecond is no fraction. */
function roundAway(ms: number): number {
  const wholeNs = Math.round(ms * NS_PER_MS);
  const whole = Math.sign(wholeNs) * Math.ceil(Math.abs(wholeNs) / NS_PER_MS);
  return whole === 0 ? 0 : whole;
}
