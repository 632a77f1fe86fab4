/** `env.…`, `system.…` and `time.now…`. */
import { toBytes } from '../bytes.ts';
import type { Environment, Placeholder, ProcessFacts, Read } from './placeholder.ts';

const MONTHS: readonly string[] = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec'];

/** null when the name is not one of these. */
export function processPlaceholder(name: string, facts: ProcessFacts): Placeholder | null {
  if (name.startsWith('env.')) return variable(name.slice('env.'.length), facts.env);
  switch (name) {
    case 'system.hostname':
      return constant(facts.system.hostname);
    case 'system.os':
      return constant(facts.system.os);
    case 'system.arch':
      return constant(facts.system.arch);
    case 'system.wd':
      return constant(facts.system.workingDirectory);
    case 'system.slash':
      return constant(facts.system.slash);
    default:
      return timePlaceholder(name);
  }
}

function variable(name: string, env: Environment): Placeholder {
  return constant(Object.hasOwn(env, name) ? (env[name] ?? '') : '');
}

function constant(text: string): Placeholder {
  const bytes = toBytes(text);
  return { read: () => bytes, constant: bytes };
}

/** Always UTC: the workers' time zone is nobody's business. */
function timePlaceholder(name: string): Placeholder | null {
  return Object.hasOwn(TIMES, name) ? { read: ofTime(TIMES[name]!) } : null;
}

function ofTime(show: (at: Date) => string): Read {
  return (request) => show(new Date(request.wallMs));
}

const TIMES: Readonly<Record<string, (at: Date) => string>> = Object.freeze({
  'time.now': (at: Date) => `${at.toISOString().replace('T', ' ').slice(0, -1)} +0000 UTC`,
  'time.now.http': (at: Date) => at.toUTCString(),
  'time.now.common_log': commonLog,
  'time.now.year': (at: Date) => String(at.getUTCFullYear()),
  'time.now.unix': (at: Date) => String(Math.floor(at.getTime() / 1000)),
  'time.now.unix_ms': (at: Date) => String(Math.floor(at.getTime())),
});

/** `30/Nov/2026:09:13:27 +0000` */
function commonLog(at: Date): string {
  const day = String(at.getUTCDate()).padStart(2, '0');
  return `${day}/${MONTHS[at.getUTCMonth()]!}/${at.getUTCFullYear()}:${at.toISOString().slice(11, 19)} +0000`;
}
