/** CPU and memory of a process with its children, from /proc (proc(5)). */
import { readdirSync, readFileSync } from 'node:fs';

export interface CpuTimes {
  readonly userUs: number;
  readonly systemUs: number;
}

/** Linux shows times in USER_HZ to programs, which is 100 on every architecture Node runs on. */
const TICK_US = 10_000;
/** Fields of /proc/PID/stat counted from the state behind the name, which may hold spaces. */
const UTIME = 11;
const STIME = 12;

/** The process and all its descendants. All threads count, the ended ones too. */
export function cpuTimes(pid: number): CpuTimes {
  let userUs = 0;
  let systemUs = 0;
  for (const each of family(pid)) {
    const fields = readProc(each, 'stat').split(') ').at(-1)?.split(' ') ?? [];
    userUs += Number(fields[UTIME] ?? 0) * TICK_US;
    systemUs += Number(fields[STIME] ?? 0) * TICK_US;
  }
  return { userUs, systemUs };
}

/** Resident memory of the process and its descendants, bytes; pages shared by them count once each. */
export function residentBytes(pid: number): number {
  let bytes = 0;
  for (const each of family(pid)) {
    const [, kib = '0'] = /^VmRSS:\s+(\d+) kB/m.exec(readProc(each, 'status')) ?? [];
    bytes += Number(kib) * 1024;
  }
  return bytes;
}

function family(pid: number): number[] {
  const members = [pid];
  for (const member of members) {
    for (const thread of threads(member)) {
      const children = readProc(member, `task/${thread}/children`).trim();
      if (children !== '') members.push(...children.split(' ').map(Number));
    }
  }
  return members;
}

function threads(pid: number): string[] {
  try {
    return readdirSync(`/proc/${pid}/task`);
  } catch {
    return [];
  }
}

/** '' when the process or thread is gone. */
function readProc(pid: number, file: string): string {
  try {
    return readFileSync(`/proc/${pid}/${file}`, 'latin1');
  } catch {
    return '';
  }
}
