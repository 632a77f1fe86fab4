import { readFileSync } from 'node:fs';

const LIMITS_FILE = '/proc/self/limits';
/** Sessions may use this share of the descriptors of the process: connections, logs and probes need some, too. */
const SESSION_SHARE = 0.5;

/** Sessions that descriptors allow (each needs one); Infinity where the system does not tell. */
export function sessionsPossible(read: () => string = readLimits): number {
  const limit = /^Max open files\s+(\d+)/m.exec(read())?.[1];
  return limit === undefined ? Infinity : Math.max(1, Math.floor(Number(limit) * SESSION_SHARE));
}

function readLimits(): string {
  try {
    return readFileSync(LIMITS_FILE, 'latin1');
  } catch {
    return '';
  }
}
