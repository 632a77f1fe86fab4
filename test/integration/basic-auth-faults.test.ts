/** A worker that throws or hangs while a password is checked beside it. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { eventually } from '../support/backend.ts';
import { startPlane } from '../support/plane.ts';
import { get, openClient } from '../support/raw-client.ts';
import { site } from '../support/site.ts';

const FAULTY = new URL('../support/faulty-worker.ts', import.meta.url);
/** Of `sesame`, and slow enough to be still under way when the worker ends. */
const SLOW = '$2b$13$/0T4oiF6TyDc3uU5UVO3rOBW6mk83Jd2yEBx4ZHoZZB5s4A0L1upq';

for (const fault of ['/throw', '/hang']) {
  test(
    `${fault}: the client that waits is reset, and the next worker checks passwords`,
    { timeout: 60_000 },
    async (t) => {
      const config = site(`basic_auth /in {\nann ${SLOW}\n}\nrespond "{http.auth.user.id}"`);
      const { port, plane } = await startPlane(t, config, { workers: 1, workerEntry: FAULTY, hangTimeoutMs: 1000 });
      const Authorization = `Basic ${Buffer.from('ann:sesame').toString('base64')}`;
      const waiting = await openClient(port);
      waiting.send(`GET /in HTTP/1.1\r\nHost: x\r\nAuthorization: ${Authorization}\r\n\r\n`);
      const failing = await openClient(port);
      failing.send(`GET ${fault} HTTP/1.1\r\nHost: x\r\n\r\n`);
      await waiting.until(() => waiting.end !== undefined);
      assert.deepEqual([waiting.end, waiting.received], ['reset', '']);
      await eventually(() => plane.workers().some(({ state }) => state === 'serving'), 'a worker serves again');
      assert.equal((await get(port, '/in', { Authorization })).body, 'ann');
    },
  );
}
