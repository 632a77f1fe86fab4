/** Servers that a config names `backend-1:3000` and so on, without root and without /etc/hosts. */
import { createServer, type AddressInfo } from 'node:net';
import type { RequestListener } from 'node:http';
import type { TestContext } from 'node:test';
import { startBackend, type Backend } from './backend.ts';
import { startDnsServer, type DnsRecord } from './dns-server.ts';

export interface NamedServers {
  readonly servers: readonly Backend[];
  /** Value of `resolvers`. */
  readonly resolver: string;
  /** `ip:port` by place. */
  readonly addresses: readonly string[];
}

/**
 * Every process has loopback addresses of its own, so that test files can use port 3000 side by side.
 * `delayMs`: every answer takes this long, so that requests are under way when a server dies.
 */
export async function startNamedServers(
  t: TestContext,
  count: number,
  port: number,
  delayMs = 0,
): Promise<NamedServers> {
  const records: Record<string, readonly DnsRecord[]> = {};
  const servers: Backend[] = [];
  const addresses: string[] = [];
  for (let number = 1; number <= count; number += 1) {
    const host = `127.${100 + number}.${(process.pid >>> 8) & 255}.${process.pid & 255}`;
    const name = `backend-${number}`;
    servers.push(await startBackend(t, name, answerAfter(delayMs, name), port, host));
    records[name] = [{ type: 'A', address: host, ttl: 60 }];
    addresses.push(`${host}:${port}`);
  }
  const dns = await startDnsServer(records);
  t.after(() => dns.close());
  return { servers, resolver: dns.address, addresses };
}

function answerAfter(delayMs: number, name: string): RequestListener {
  return (_request, response) => {
    response.setHeader('X-Backend', name);
    if (delayMs === 0) response.end(name);
    else setTimeout(() => response.end(name), delayMs);
  };
}

/** A port nobody listens on. For options that take no 0. */
export async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  await new Promise<void>((resolve) => server.close(() => resolve()));
  return port;
}
