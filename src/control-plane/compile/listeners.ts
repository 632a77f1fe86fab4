/** Listener addresses of a server. */
import { isIPv6 } from 'node:net';
import { joinHostPort, splitHostPort } from '../../shared/net/address.ts';
import { describePlace } from '../config/positions.ts';
import type { Compilation } from './compilation.ts';
import type { ListenerSpec } from './compiled.ts';

/** Each port of a range is a socket for every worker. */
const MAX_RANGE = 1024;
/** Caddy's form of a socket that the process inherits. */
const INHERITED = /^fd\/(\d{1,6})$/;
const HOST = /^[A-Za-z0-9_.-]+$/;

/** Every address of `listen`, ranges expanded. An inherited socket is one, so one thread accepts on it whatever `accept` says. `path` is the JSON path of the list. */
export function compileListeners(
  run: Compilation,
  path: string,
  listen: readonly string[],
  accept: 'kernel' | 'shared' | null,
): ListenerSpec[] {
  const mode = accept ?? (run.context.platform === 'linux' ? 'kernel' : 'shared');
  return listen.flatMap((address, index) => {
    const addressPath = `${path}.${index}`;
    const place = describePlace(run.context.positions, addressPath);
    const fd = INHERITED.exec(address)?.[1];
    if (fd !== undefined) return { key: address, host: '', port: 0, accept: 'shared', fd: Number(fd), place };
    const { host, first, last } = readListener(run, addressPath, address);
    if (last - first >= MAX_RANGE) run.fail(addressPath, `'${address}' is a range of more than ${MAX_RANGE} ports`);
    return Array.from({ length: last - first + 1 }, (_, offset) => boundHere(host, first + offset, mode, place));
  });
}

/** `host:port` of the admin endpoint or of another single address. */
export function readSingleListener(run: Compilation, path: string, address: string): { host: string; port: number } {
  const { host, first, last } = readListener(run, path, address);
  if (first !== last) run.fail(path, `'${address}' is a range: expected one port`);
  return { host, port: first };
}

function boundHere(host: string, port: number, accept: ListenerSpec['accept'], place: string): ListenerSpec {
  return { key: `tcp/${joinHostPort(host, port)}`, host, port, accept, fd: null, place };
}

interface PortRange {
  readonly host: string;
  readonly first: number;
  readonly last: number;
}

function readListener(run: Compilation, path: string, address: string): PortRange {
  if (/[{}]/.test(address)) run.notYet(path, 'placeholders in listener addresses');
  const slash = address.indexOf('/');
  const network = slash < 0 ? 'tcp' : address.slice(0, slash);
  if (network !== 'tcp') run.notYet(path, `${network}/`);
  const [, rangeless = '', first = '', last = first] = /^(.*:)(\d+)(?:-(\d+))?$/.exec(address.slice(slash + 1)) ?? [];
  const low = splitHostPort(`${rangeless}${first}`);
  const high = splitHostPort(`${rangeless}${last}`);
  const usable = low?.port !== undefined && low.port !== null && high?.port !== undefined && high.port !== null;
  if (!usable || high.port < low.port || !isHost(low.host)) {
    run.fail(path, `'${address}' is no address to listen on: write :8080, host:8080 or :8080-8090 (ports up to 65535)`);
  }
  return { host: low.host.toLowerCase(), first: low.port, last: high.port };
}

function isHost(host: string): boolean {
  return host === '' || HOST.test(host) || isIPv6(host);
}
