/** Sessions: resumed by whichever worker takes the connection, until the key that seals them is changed. */
import assert from 'node:assert/strict';
import { describe, test, type TestContext } from 'node:test';
import type { ConnectionOptions } from 'node:tls';
import type { ControlEvent } from '../../src/control-plane/types.ts';
import { systemClock, type Clock } from '../../src/shared/clock.ts';
import { eventually } from '../support/backend.ts';
import { TestAuthority } from '../support/certificates.ts';
import { startPlane, type TestPlane } from '../support/plane.ts';
import { openClient } from '../support/raw-client.ts';
import { openTls } from '../support/tls-client.ts';
import { tlsSiteConfig } from '../support/tls-site.ts';

const OPTIONS = { timeout: 60_000 };
const FAULTY = new URL('../support/faulty-worker.ts', import.meta.url);
const HOUR_MS = 3_600_000;
const WORKERS = 3;
/** The kernel spreads connections: that all of these meet one worker is next to impossible. */
const CONNECTIONS = 12;

interface World extends TestPlane {
  readonly trusting: ConnectionOptions;
}

async function start(t: TestContext, clock: Clock = systemClock): Promise<World> {
  const authority = await TestAuthority.create(t);
  const leaf = await authority.leaf('a', ['a.test']);
  const config = tlsSiteConfig(authority, leaf, {});
  const world = await startPlane(t, config, { workers: WORKERS, workerEntry: FAULTY, clock });
  return { ...world, trusting: { ca: authority.root.certificate, servername: 'a.test' } };
}

/** What a client keeps of a connection, to come back with. */
async function takeSession(port: number, options: ConnectionOptions): Promise<Buffer> {
  const { raw, socket } = await openTls(port, options);
  raw.send('GET / HTTP/1.1\r\nHost: a.test\r\nConnection: close\r\n\r\n');
  // A ticket of TLS 1.3 comes behind the handshake and before the response.
  await raw.until(() => raw.received.includes('ok'));
  const session = socket.getSession();
  assert.ok(session !== undefined);
  raw.close();
  return session;
}

/** Of a number of connections with this session, how many were resumed. */
async function resumedOf(port: number, options: ConnectionOptions): Promise<number> {
  let resumed = 0;
  for (let index = 0; index < CONNECTIONS; index += 1) {
    const { raw, socket } = await openTls(port, options);
    if (socket.isSessionReused()) resumed += 1;
    raw.send('GET / HTTP/1.1\r\nHost: a.test\r\nConnection: close\r\n\r\n');
    assert.equal((await raw.response()).body, 'ok');
    raw.close();
  }
  return resumed;
}

function countOf(events: readonly ControlEvent[], type: ControlEvent['type']): number {
  return events.filter((event) => event.type === type).length;
}

for (const version of ['TLSv1.2', 'TLSv1.3'] as const) {
  describe(`sessions of ${version}`, OPTIONS, () => {
    test('are resumed by workers that took the place of others', async (t) => {
      const { port, events, trusting } = await start(t);
      const options: ConnectionOptions = { ...trusting, maxVersion: version };
      const session = await takeSession(port, options);
      for (let fault = 1; fault <= 2; fault += 1) {
        const culprit = await openClient(port);
        culprit.send('GET /throw HTTP/1.1\r\nHost: a.test\r\n\r\n');
        await culprit.ended();
        await eventually(() => countOf(events, 'worker-started') === WORKERS + fault, 'a replacement', 20_000);
      }
      assert.equal(await resumedOf(port, { ...options, session }), CONNECTIONS);
    });

    test('are not resumed once the key has changed, at no worker; new ones are, at every worker', async (t) => {
      const clock = new RunAheadClock();
      const { port, trusting } = await start(t, clock);
      const options: ConnectionOptions = { ...trusting, maxVersion: version };
      const session = await takeSession(port, options);
      assert.equal(await resumedOf(port, { ...options, session }), CONNECTIONS);
      clock.aheadMs = 12 * HOUR_MS + 1;
      // The look at certificates, every few seconds, sees that it is time.
      await eventually(async () => (await resumedOf(port, { ...options, session })) === 0, 'another key', 20_000);
      const later = await takeSession(port, options);
      assert.equal(await resumedOf(port, { ...options, session: later }), CONNECTIONS);
    });
  });
}

/** The system's, from some moment on ahead of it: timers keep their pace. */
class RunAheadClock implements Clock {
  aheadMs = 0;

  now(): number {
    return systemClock.now() + this.aheadMs;
  }

  wall(): number {
    return systemClock.wall() + this.aheadMs;
  }

  after(delayMs: number, task: () => void): ReturnType<Clock['after']> {
    return systemClock.after(delayMs, task);
  }

  afterPoll(task: () => void): void {
    systemClock.afterPoll(task);
  }
}
