/** A balancer for one test: started from Caddyfile text through the library, stopped when the test ends. */
import type { TestContext } from 'node:test';
import type * as library from '../../src/index.ts';
import type { Balancer, BalancerOptions } from '../../src/index.ts';

/**
 * The module under test: the sources, or the packed package when HOLDFAST_DIST names its folder, so that
 * the same tests run against what is published.
 */
export async function loadLibrary(): Promise<typeof library> {
  const packed = process.env['HOLDFAST_DIST'];
  return packed === undefined ? import('../../src/index.ts') : import(`${packed}/dist/index.js`);
}

export interface TestBalancer extends Balancer {
  /** Port of the only listener. */
  readonly port: number;
  /** Access lines so far, parsed. */
  readonly accessLines: readonly Record<string, unknown>[];
}

/** Global options that every test wants: no admin port, no HTTPS. */
export function globals(extra = ''): string {
  return `{\n  admin off\n  auto_https off\n${extra}\n}\n`;
}

/** The whole of a config: one site on an ephemeral loopback port (the same for all workers) with `body` inside. */
export function site(body: string, globalOptions = ''): string {
  return `${globals(globalOptions)}http://:0 {\n  bind 127.0.0.1\n${body}\n}\n`;
}

export async function startBalancer(
  t: TestContext,
  config: string | object,
  options: Partial<BalancerOptions> = {},
): Promise<TestBalancer> {
  const { createBalancer } = await loadLibrary();
  const lines: Record<string, unknown>[] = [];
  const balancer = await createBalancer({
    config,
    workers: 1,
    accessLog: (batch) => {
      for (const line of batch.split('\n')) if (line !== '') lines.push(JSON.parse(line) as Record<string, unknown>);
    },
    ...options,
  });
  t.after(() => balancer.stop(0));
  return Object.assign(balancer, { port: balancer.address().port, accessLines: lines });
}
