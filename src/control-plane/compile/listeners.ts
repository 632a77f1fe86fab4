/** Listener addresses of a server. */
import { isIPv6 } from 'node:net';
import { joinHostPort, splitHostPort } from '../../shared/net/address.ts';
import { describePlace } from '../config/positions.ts';
import type { Compilation } from './compilation.ts';
import type { ListenerSpec } from './compiled.ts';
import { isUnixAddress, readUnixSocket } from './unix-socket.ts';

/** Each port of a range is a socket for every worker. */
const MAX_RANGE = 1024;
/** Caddy's form of a socket that the process inherits. */
const INHERITED = /^fd\/(\d{1,6})$/;
const HOST = /^[A-Za-z0-9_.-]+$/;
const TCP_ONLY: readonly ListenNetwork[] = Object.freeze(['tcp']);
/** What HTTP can be served on. */
const STREAMS: readonly ListenNetwork[] = Object.freeze(['tcp', 'unix']);

export type ListenNetwork = 'tcp' | 'udp' | 'unix';

/**
 * Every address of `listen`, ranges expanded; those of other networks than `networks` are refused. An inherited socket
 * is one, so one thread accepts on it whatever `accept` says. `path` is the JSON path of the list.
 */
export function compileListeners(
  run: Compilation,
  path: string,
  listen: readonly string[],
  accept: 'kernel' | 'shared' | null,
  networks: readonly ListenNetwork[] = STREAMS,
): ListenerSpec[] {
  const mode = accept ?? (run.context.platform === 'linux' ? 'kernel' : 'shared');
  return listen.flatMap((address, index) => {
    const addressPath = `${path}.${index}`;
    const place = describePlace(run.context.positions, addressPath);
    const fd = INHERITED.exec(address)?.[1];
    if (fd !== undefined) return { key: address, host: '', port: 0, accept: 'shared', fd: Number(fd), place };
    if (isUnixAddress(address) && networks.includes('unix')) return [unixListener(run, addressPath, address, place)];
    const { network, host, first, last } = readListener(run, addressPath, address, networks);
    if (last - first >= MAX_RANGE) run.fail(addressPath, `'${address}' is a range of more than ${MAX_RANGE} ports`);
    return Array.from({ length: last - first + 1 }, (_, offset) =>
      boundHere(network, host, first + offset, mode, place),
    );
  });
}

/** `host:port` of the admin endpoint or of another single address. */
export function readSingleListener(run: Compilation, path: string, address: string): { host: string; port: number } {
  const { host, first, last } = readListener(run, path, address, TCP_ONLY);
  if (first !== last) run.fail(path, `'${address}' is a range: expected one port`);
  return { host, port: first };
}

function boundHere(
  network: 'tcp' | 'udp',
  host: string,
  port: number,
  accept: ListenerSpec['accept'],
  place: string,
): ListenerSpec {
  const spec: ListenerSpec = { key: `${network}/${joinHostPort(host, port)}`, host, port, accept, fd: null, place };
  return network === 'udp' ? { ...spec, network } : spec;
}

/** Its owner is one worker, so how connections are spread is no question. */
function unixListener(run: Compilation, path: string, address: string, place: string): ListenerSpec {
  const unix = readUnixSocket(run, path, address);
  return {
    ...{ key: `unix/${unix.path}`, network: 'unix', unix },
    ...{ host: '', port: 0, accept: 'kernel', fd: null, place },
  };
}

interface PortRange {
  readonly network: 'tcp' | 'udp';
  readonly host: string;
  readonly first: number;
  readonly last: number;
}

function readListener(run: Compilation, path: string, address: string, networks: readonly ListenNetwork[]): PortRange {
  if (/[{}]/.test(address)) run.notYet(path, 'placeholders in listener addresses');
  const slash = address.indexOf('/');
  const written = slash < 0 ? 'tcp' : address.slice(0, slash);
  const network = networks.find((known) => known === written);
  if (network !== 'tcp' && network !== 'udp') run.notYet(path, `${written}/`);
  const [, rangeless = '', first = '', last = first] = /^(.*:)(\d+)(?:-(\d+))?$/.exec(address.slice(slash + 1)) ?? [];
  const low = splitHostPort(`${rangeless}${first}`);
  const high = splitHostPort(`${rangeless}${last}`);
  const usable = low?.port !== undefined && low.port !== null && high?.port !== undefined && high.port !== null;
  if (!usable || high.port < low.port || !isHost(low.host)) {
    run.fail(path, `'${address}' is no address to listen on: write :8080, host:8080 or :8080-8090 (ports up to 65535)`);
  }
  return { network, host: low.host.toLowerCase(), first: low.port, last: high.port };
}

function isHost(host: string): boolean {
  return host === '' || HOST.test(host) || isIPv6(host);
}
