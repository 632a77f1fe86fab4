import { connect } from 'node:net';
import { text } from 'node:stream/consumers';
import type { TestContext } from 'node:test';
import type { AdminContext } from '../../src/control-plane/admin/context.ts';
import { createAdminRoutes } from '../../src/control-plane/admin/routes/index.ts';
import { AdminServer } from '../../src/control-plane/admin/server.ts';
import { Metrics } from '../../src/control-plane/metrics/metrics.ts';
import { systemClock } from '../../src/shared/clock.ts';
import { silentLogger } from '../../src/shared/log.ts';
import { FakePlane } from './fake-plane.ts';

export interface Harness {
  readonly plane: FakePlane;
  readonly port: number;
  /** Calls of the stop route. */
  readonly stops: () => number;
  request(method: string, path: string, options?: RequestOptions): Promise<Reply>;
  /** Sends bytes as they are and returns all that came back until the end of the connection. */
  raw(bytes: string): Promise<string>;
}

interface RequestOptions {
  readonly headers?: Record<string, string>;
  readonly body?: string;
}

export interface Reply {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
}

export interface HarnessOptions {
  readonly origins?: readonly string[];
  readonly enforceOrigin?: boolean;
  readonly host?: string;
  readonly maxBodyBytes?: number;
  readonly adapt?: AdminContext['adapt'];
}

/** An admin server on a real socket over a `FakePlane`; closed with the test. */
export async function startAdmin(t: TestContext, options: HarnessOptions = {}): Promise<Harness> {
  const plane = new FakePlane();
  let stops = 0;
  const routes = createAdminRoutes({
    plane,
    log: silentLogger,
    metrics: new Metrics(plane, systemClock, '1.2.3'),
    env: {},
    adapt: options.adapt ?? ((source) => ({ config: { adapted: source }, warnings: [] })),
    load: (request) => plane.load(request),
    stop: () => {
      stops += 1;
    },
  });
  const server = new AdminServer({
    spec: {
      enabled: true,
      host: options.host ?? '127.0.0.1',
      port: 0,
      origins: options.origins ?? [],
      enforceOrigin: options.enforceOrigin ?? false,
    },
    routes,
    log: silentLogger,
    ...(options.maxBodyBytes === undefined ? {} : { maxBodyBytes: options.maxBodyBytes }),
  });
  const { port } = await server.listen();
  t.after(() => server.close(0));
  return {
    plane,
    port,
    stops: () => stops,
    request: (method, path, { headers = {}, body } = {}) => send(port, method, path, headers, body),
    raw: (bytes) => exchange(port, bytes),
  };
}

async function send(
  port: number,
  method: string,
  path: string,
  headers: Record<string, string>,
  body: string | undefined,
): Promise<Reply> {
  const response = await fetch(`http://127.0.0.1:${port}${path}`, {
    method,
    headers,
    ...(body === undefined ? {} : { body }),
  });
  return { status: response.status, headers: response.headers, text: await response.text() };
}

async function exchange(port: number, bytes: string): Promise<string> {
  const socket = connect(port, '127.0.0.1');
  socket.end(bytes);
  return text(socket);
}
