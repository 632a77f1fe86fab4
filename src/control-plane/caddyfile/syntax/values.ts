const UNIT_NS: Readonly<Record<string, number>> = {
  ns: 1,
  us: 1e3,
  µs: 1e3,
  μs: 1e3,
  ms: 1e6,
  s: 1e9,
  m: 60e9,
  h: 3600e9,
  d: 86_400e9,
};

const UNIT_BYTES: Readonly<Record<string, number>> = {
  '': 1,
  b: 1,
  k: 1e3,
  kb: 1e3,
  m: 1e6,
  mb: 1e6,
  g: 1e9,
  gb: 1e9,
  t: 1e12,
  tb: 1e12,
  p: 1e15,
  pb: 1e15,
  ki: 2 ** 10,
  kib: 2 ** 10,
  mi: 2 ** 20,
  mib: 2 ** 20,
  gi: 2 ** 30,
  gib: 2 ** 30,
  ti: 2 ** 40,
  tib: 2 ** 40,
  pi: 2 ** 50,
  pib: 2 ** 50,
};

/** Go's duration syntax plus `d` for 24 hours, in whole nanoseconds; null when it is none. */
export function parseDurationNs(text: string): number | null {
  const body = /^[+-]/.test(text) ? text.slice(1) : text;
  const sign = text.startsWith('-') ? -1 : 1;
  if (body === '0') return 0;
  const parts = [...body.matchAll(/(\d+(?:\.\d*)?|\.\d+)(ns|us|µs|μs|ms|s|m|h|d)/gy)];
  const length = parts.reduce((sum, [whole]) => sum + whole.length, 0);
  if (parts.length === 0 || length !== body.length) return null;
  const total = parts.reduce((sum, [, amount = '', unit = '']) => sum + Number(amount) * (UNIT_NS[unit] ?? 0), 0);
  return Number.isSafeInteger(Math.round(total)) ? sign * Math.round(total) : null;
}

/** Null for anything but a safe decimal integer. */
export function parseInteger(text: string): number | null {
  if (!/^[+-]?\d+$/.test(text)) return null;
  const value = Number(text);
  return Number.isSafeInteger(value) ? value : null;
}

/** SI (`KB` = 1000) and IEC (`KiB` = 1024) suffixes, whatever their case; null when it is none. */
export function parseByteSize(text: string): number | null {
  const [, amount = '', unit = ''] = /^(\d+(?:\.\d+)?) ?([a-z]*)$/i.exec(text) ?? [];
  const factor = UNIT_BYTES[unit.toLowerCase()];
  if (amount === '' || factor === undefined) return null;
  const bytes = Math.floor(Number(amount) * factor);
  return Number.isSafeInteger(bytes) ? bytes : null;
}
