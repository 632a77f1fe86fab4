/** Servers of layer 4 under the probe that suits them: healthy, stopped, and back. */
import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import { eventually } from '../support/backend.ts';
import { startBalancer, type TestBalancer } from '../support/balance.ts';
import { layer4, proxyRoute } from '../support/layer4-site.ts';
import { freePort, type Program } from '../support/program.ts';
import { udpProxy, udpSite } from '../support/udp-site.ts';
import { SERVICES, type Service } from './services.ts';

const FALL = 3;

interface Server {
  readonly port: number;
  readonly program: Program;
}

async function startOne(t: TestContext, service: Service): Promise<Server> {
  const port = await freePort();
  return { port, program: await service.start(t, port) };
}

/** The first server takes all work while it can. */
function configOf({ network, probe, options = '' }: Service, ports: readonly number[]): string {
  const check = `health ${probe} {\n${options}\ninterval 200ms\ntimeout 5s\nrise 2\nfall ${FALL}\n}`;
  const lines = `lb_policy first\n${check}`;
  return network === 'udp' ? udpSite(udpProxy(ports, lines), 'responses 1') : layer4(proxyRoute(ports, lines));
}

type Seen = ReturnType<TestBalancer['upstreams']>[number];

function seen(balancer: TestBalancer, port: number): Seen {
  const found = balancer.upstreams().find(({ upstream }) => upstream.endsWith(`:${port}`));
  assert.ok(found !== undefined);
  return found;
}

const taken = (balancer: TestBalancer, port: number): number => seen(balancer, port).endpoints[0]!.requestsTotal;

async function untilState(balancer: TestBalancer, port: number, state: Seen['state']): Promise<void> {
  await eventually(
    () => {
      const { state: now, endpoints } = seen(balancer, port);
      const { consecutivePasses, consecutiveFails } = endpoints[0]!.checks[0]!;
      return now === state && (state === 'up' ? consecutivePasses : consecutiveFails) >= 2;
    },
    `${port} to be ${state}`,
    30_000,
  );
}

for (const service of SERVICES) {
  const options = { timeout: 120_000, skip: service.skip };
  test(
    `${service.name}: passes health ${service.probe}, work moves when it stops and comes home`,
    options,
    async (t) => {
      const [first, second] = [await startOne(t, service), await startOne(t, service)];
      const balancer = await startBalancer(t, configOf(service, [first.port, second.port]));
      for (const { port } of [first, second]) {
        await untilState(balancer, port, 'up');
        const [passed] = seen(balancer, port).endpoints[0]!.checks[0]!.results;
        assert.match(passed!.localAddress, /^127\.0\.0\.1:\d+$/);
      }
      await service.use(balancer.port);
      assert.ok(taken(balancer, first.port) > 0);
      assert.equal(taken(balancer, second.port), 0);

      await first.program.end();
      await untilState(balancer, first.port, 'down');
      const [check] = seen(balancer, first.port).endpoints[0]!.checks;
      assert.ok(service.gone.includes(check!.reason), `${check!.reason}: ${seen(balancer, first.port).why}`);
      assert.equal(seen(balancer, second.port).state, 'up');
      const before = taken(balancer, first.port);
      await service.use(balancer.port);
      assert.equal(taken(balancer, first.port), before);
      assert.ok(taken(balancer, second.port) > 0);

      await service.start(t, first.port);
      await untilState(balancer, first.port, 'up');
      await service.use(balancer.port);
      assert.ok(taken(balancer, first.port) > before);
    },
  );
}
