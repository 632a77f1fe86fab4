/** What becomes of sessions whose server gets no new ones: three modes, three causes, three kinds of session. */
import assert from 'node:assert/strict';
import { describe, test, type TestContext } from 'node:test';
import { eventually, startBackend } from '../support/backend.ts';
import { globals, startBalancer } from '../support/balance.ts';
import { connectTo } from '../support/tcp-world.ts';
import { get, openClient } from '../support/raw-client.ts';
import { proxyTo, site } from '../support/site.ts';
import {
  HOSTS,
  openSession,
  startScene,
  startServer,
  type Layer,
  type Scene,
  type Session,
} from '../support/leaving.ts';

const OPTIONS = { timeout: 60_000 };
const DRAIN_MS = 1200;
/** Longer than anything that would end a session at once takes. */
const SOME_TIME_MS = 700;

type Cause = 'its check fails' | 'the operator drains it' | 'a reload removes it';

const CAUSES: Readonly<Record<Cause, (scene: Scene) => Promise<void>>> = {
  'its check fails': async ({ gates }) => {
    gates.up[0] = false;
  },
  'the operator drains it': async ({ balancer, upstreams }) => {
    assert.equal(balancer.patchUpstream(upstreams[0], { adminState: 'drain' }), true);
  },
  'a reload removes it': async ({ balancer, config }) => {
    await balancer.reload(config([1]));
  },
};

/** New work goes to the second server. */
async function newWorkMoves(scene: Scene): Promise<void> {
  await eventually(async () => {
    const session = await scene.open();
    const server = await session.ask();
    session.close();
    return server === 1;
  }, 'new work to go to the second server');
}

async function nothingRuns(scene: Scene): Promise<void> {
  await eventually(() => scene.running() === 0, 'the first server to be idle');
  await eventually(
    () =>
      scene.events.some(({ type, fields }) => type === 'drain-finished' && fields['address'] === scene.upstreams[0]),
    'the event that says so',
  );
}

/** Until the session has ended, or goes to the second server; milliseconds since `since`. */
async function staysFor(session: Session, since: number): Promise<number> {
  while ((await session.ask()) === 0) await new Promise((resolve) => setTimeout(resolve, 10));
  return Date.now() - since;
}

async function leave(t: TestContext, layer: Layer, cause: Cause, options: string): Promise<[Scene, Session, number]> {
  const scene = await startScene(t, layer, options);
  const session = await scene.open();
  assert.equal(await session.ask(), 0);
  assert.equal(scene.running(), 1);
  const since = Date.now();
  await CAUSES[cause](scene);
  return [scene, session, since];
}

/** How a session of each layer ends: at a deadline, and at once. UDP has no end that a client could see. */
const ENDS: Readonly<Record<Layer, readonly [string | undefined, string | undefined]>> = {
  tcp: ['fin', 'reset'],
  udp: [undefined, undefined],
  websocket: ['1001', '1006'],
};

test(
  'HTTP: at the deadline a download is reset, and what was not answered goes to the other server',
  OPTIONS,
  async (t) => {
    const names = ['one', 'two'];
    const [one, two] = await Promise.all(
      names.map((name) =>
        startBackend(t, name, (request, response) => {
          if (name === 'two') response.end(name);
          else if (request.url === '/stream') response.write('begin');
        }),
      ),
    );
    const balancer = await startBalancer(t, site(proxyTo([one!, two!], `lb_policy first\ndrain ${DRAIN_MS}ms`)));
    const download = await openClient(balancer.port);
    download.send('GET /stream HTTP/1.1\r\nHost: a\r\n\r\n');
    await download.until(() => download.received.includes('begin'));
    const waiting = (await openClient(balancer.port)).send('GET /wait HTTP/1.1\r\nHost: a\r\n\r\n').response();
    await eventually(() => one!.requests.length === 2, 'both requests');
    const since = Date.now();
    balancer.patchUpstream(`127.0.0.1:${one!.port}`, { adminState: 'maint' });
    assert.equal((await get(balancer.port)).body, 'two');
    assert.equal(download.end, undefined);
    assert.equal(await download.ended(), 'reset');
    assert.equal((await waiting).body, 'two');
    assert.ok(Date.now() - since >= DRAIN_MS);
    await eventually(() => balancer.upstreams()[0]!.inFlight === 0, 'the first server to be idle');
  },
);

test('two pools over one server drain it each in its own way', OPTIONS, async (t) => {
  const [shared, other] = [await startServer(t, 'tcp', 0), await startServer(t, 'tcp', 1)];
  const block = (host: string, drain: string): string =>
    `${host}:0 {\nroute {\nproxy ${HOSTS[0]}:${shared.port} ${HOSTS[1]}:${other.port} {\nlb_policy first\ndrain ${drain}\n}\n}\n}\n`;
  const config = globals(`layer4 {\n${block('127.0.0.1', 'immediate')}${block('127.0.0.2', 'off')}}\n`);
  const balancer = await startBalancer(t, config);
  const [impatient, patient] = [...balancer.addresses().values()];
  const cut = await openSession(t, 'tcp', impatient!.port);
  const kept = await connectTo(t, patient!.port, '127.0.0.2', '127.0.0.2');
  kept.send('<1>');
  await kept.until(() => kept.received === '0:<1>');
  assert.equal(await cut.ask(), 0);
  balancer.patchUpstream(`${HOSTS[0]}:${shared.port}`, { adminState: 'drain' });
  await eventually(() => cut.ended === 'reset', 'the connection of the first pool to be reset');
  kept.send('<2>');
  await kept.until(() => kept.received.endsWith('0:<2>'));
  assert.equal(balancer.upstreams().find(({ upstream }) => upstream.startsWith(HOSTS[0]))!.inFlight, 1);
});

describe('draining', { concurrency: 4 }, () => {
  for (const layer of ['tcp', 'udp', 'websocket'] as const) {
    for (const cause of Object.keys(CAUSES) as Cause[]) {
      test(`${layer}, drain off: a session goes on when ${cause}`, OPTIONS, async (t) => {
        const [scene, session, since] = await leave(t, layer, cause, 'drain off');
        await newWorkMoves(scene);
        while (Date.now() - since < SOME_TIME_MS) assert.equal(await session.ask(), 0);
        assert.equal(session.ended, undefined);
        // UDP sessions end with their idle time, those that asked for the second server a moment too early as well.
        assert.ok(scene.running() >= 1);
        session.close();
        if (layer !== 'udp') await nothingRuns(scene);
      });

      test(`${layer}, drain with a time: it is ended at the deadline when ${cause}`, OPTIONS, async (t) => {
        const [scene, session, since] = await leave(t, layer, cause, `drain ${DRAIN_MS}ms`);
        await newWorkMoves(scene);
        assert.ok((await staysFor(session, since)) >= DRAIN_MS, 'not before the deadline');
        assert.equal(session.ended, ENDS[layer][0]);
        await nothingRuns(scene);
      });

      test(`${layer}, drain immediate: it is ended at once when ${cause}`, OPTIONS, async (t) => {
        const [scene, session, since] = await leave(t, layer, cause, 'drain immediate');
        await staysFor(session, since);
        assert.equal(session.ended, ENDS[layer][1]);
        await newWorkMoves(scene);
        await nothingRuns(scene);
      });
    }
  }
});
