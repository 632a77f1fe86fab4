import type { Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Bench } from './bench.ts';
import { askAndKeep } from './client.ts';
import type { LoadGenerator } from './load/load.ts';
import { startProxy, type ProxyKind } from './proxies/proxy.ts';
import { median } from './statistics.ts';
import { residentBytes } from './usage.ts';

export interface Memory {
  /** Resident after some seconds of load, bytes. */
  readonly restingBytes: number;
  readonly bytesPerIdleConnection: number;
}

const WARM_UP_SECONDS = 3;
const WARM_UP_CONNECTIONS = 64;
const SETTLE_MS = 1_500;
const READINGS = 5;
const READING_GAP_MS = 200;
/** Connections opened at the same time. */
const OPENING = 50;

/** Share of the idle connections that is open before the first reading. */
const FIRST_SHARE = 0.25;

/**
 * A fresh process gets some load, so that its heap has the size it works with; then `idle` connections
 * ask once each and stay open. The first quarter fills what the heap has left over; the growth from
 * there on is a connection's memory, without what the kernel holds for the socket.
 */
export async function measureMemory(
  bench: Bench,
  kind: ProxyKind,
  backends: readonly number[],
  generator: LoadGenerator,
  idle: number,
): Promise<Memory> {
  const proxy = await startProxy(bench, kind, backends);
  await generator.run(bench, proxy.port, WARM_UP_CONNECTIONS, WARM_UP_SECONDS);
  const restingBytes = await settled(proxy.running.pid);
  const first = Math.round(idle * FIRST_SHARE);
  const sockets = await openIdle(proxy.port, first);
  const before = await settled(proxy.running.pid);
  sockets.push(...(await openIdle(proxy.port, idle - first)));
  const grown = (await settled(proxy.running.pid)) - before;
  for (const socket of sockets) socket.resetAndDestroy();
  await proxy.running.end();
  return { restingBytes, bytesPerIdleConnection: grown / (idle - first) };
}

/** Resident bytes of one more worker. `withWorkers` makes the same proxy with that many. */
export async function measureWorker(
  bench: Bench,
  withWorkers: (workers: number) => ProxyKind,
  backends: readonly number[],
): Promise<number> {
  const [few, many] = [1, 4];
  const sizes: number[] = [];
  for (const workers of [few, many]) {
    const proxy = await startProxy(bench, withWorkers(workers), backends);
    sizes.push(await settled(proxy.running.pid));
    await proxy.running.end();
  }
  return ((sizes[1] ?? 0) - (sizes[0] ?? 0)) / (many - few);
}

async function openIdle(port: number, count: number): Promise<Socket[]> {
  const sockets: Socket[] = [];
  while (sockets.length < count) {
    const batch = Math.min(OPENING, count - sockets.length);
    const opened = await Promise.all(Array.from({ length: batch }, () => askAndKeep(port, '/')));
    sockets.push(...opened.map(({ socket }) => socket));
  }
  return sockets;
}

async function settled(pid: number): Promise<number> {
  await sleep(SETTLE_MS);
  const readings: number[] = [];
  for (let reading = 0; reading < READINGS; reading += 1) {
    readings.push(residentBytes(pid));
    await sleep(READING_GAP_MS);
  }
  return median(readings);
}
