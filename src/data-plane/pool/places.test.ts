import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import { FakeClock } from '../../../test/support/fake-clock.ts';
import { seededRandom } from '../../shared/random.ts';
import {
  FACT_IN_FLIGHT,
  FACT_QUEUE_TIMEOUTS,
  FACT_WAITING,
  MEMBER_DOWN,
  MEMBER_DRAIN,
  MEMBER_ELIGIBLE,
  MEMBER_FULL,
  MEMBER_WAIT,
} from '../../shared/state-table/layout.ts';
import { StateTable } from '../../shared/state-table/table.ts';
import { TimerWheel } from '../wheel.ts';
import { Places } from './places.ts';
import type { LineWorld, Ticket, Waiter } from './waiting-line.ts';

const SLOT = 0;

interface Options {
  readonly workers: number;
  readonly limit: number;
  readonly queue: number;
  readonly timeoutMs?: number;
}

/** Several workers with one server behind them, on one clock. */
class Scene {
  readonly clock: FakeClock = new FakeClock();
  readonly table: StateTable = new StateTable();
  readonly worlds: readonly LineWorld[];
  readonly places: readonly Places[];
  word = MEMBER_ELIGIBLE;
  readonly #options: Options;

  constructor(options: Options) {
    this.#options = options;
    this.table.grow('slot', 0, SLOT);
    const lanes = Array.from({ length: options.workers }, (_, worker) => worker + 1);
    for (const lane of lanes) this.table.grow('facts', lane, SLOT);
    const wheel = new TimerWheel(this.clock);
    const random = seededRandom(4);
    this.worlds = lanes.map((lane) => ({ clock: this.clock, facts: this.table.facts(lane), random, wheel }));
    this.places = lanes.map(() => {
      const pool = {
        size: 1,
        load: () => this.running,
        word: () => this.word,
        endpointsOf: () => [{ slot: SLOT, check: -1, host: '127.0.0.1', port: 1 }],
      };
      const member = { upstream: 'app', identity: 'app', maxRequests: options.limit };
      const queue = options.queue === 0 ? null : { limit: options.queue, timeoutMs: options.timeoutMs ?? 60_000 };
      return new Places(pool, [member], queue, this.table);
    });
  }

  get running(): number {
    return this.table.sumFacts(SLOT, FACT_IN_FLIGHT);
  }

  get waiting(): number {
    return this.table.sumFacts(SLOT, FACT_WAITING);
  }

  arrive(worker: number): Visitor {
    return new Visitor(this, worker, this.#options.timeoutMs ?? 60_000);
  }
}

type Fate = 'runs' | 'waits' | 'refused' | 'timed out' | 'sent away' | 'done';

/** One request, as `Tries` drives it. */
class Visitor implements Waiter {
  fate: Fate = 'refused';
  readonly worker: number;
  readonly #scene: Scene;
  #ticket: Ticket | null = null;

  constructor(scene: Scene, worker: number, timeoutMs: number) {
    this.#scene = scene;
    this.worker = worker;
    if (this.#take(false)) return;
    const since = scene.clock.now();
    const ticket: Ticket = { waiter: this, position: 0, slot: SLOT, since, expiresAt: since + timeoutMs };
    if (!this.#places.join(this.#world, ticket, false)) return;
    this.#ticket = ticket;
    this.fate = 'waits';
  }

  get #world(): LineWorld {
    return this.#scene.worlds[this.worker]!;
  }

  get #places(): Places {
    return this.#scene.places[this.worker]!;
  }

  #take(first: boolean): boolean {
    if (!this.#places.take(this.#world, 0, SLOT, first)) return false;
    this.fate = 'runs';
    return true;
  }

  onTurn(): void {
    if (!this.#take(true)) this.#places.join(this.#world, this.#ticket!, true);
  }

  onServerGone(): void {
    this.fate = 'sent away';
  }

  onQueueTimeout(): void {
    this.fate = 'timed out';
  }

  finish(): void {
    this.fate = 'done';
    this.#world.facts.add(SLOT, FACT_IN_FLIGHT, -1);
    this.#places.left(this.#world, 0, SLOT);
  }

  goAway(): void {
    this.#places.quit(this.#ticket!);
    this.fate = 'done';
  }
}

const steps = fc.array(
  fc.oneof(
    fc.record({ act: fc.constant('arrive' as const), worker: fc.nat(2) }),
    fc.record({ act: fc.constant('finish' as const), which: fc.nat(20) }),
    fc.record({ act: fc.constant('go away' as const), which: fc.nat(20) }),
    fc.record({ act: fc.constant('time' as const), ms: fc.nat(200) }),
  ),
  { maxLength: 60 },
);

describe('a line in front of a full server', () => {
  test('is bounded, never lets in more than the limit, keeps its order, and serves everybody in the end', async () => {
    const sizes = fc.record({ limit: fc.integer({ min: 1, max: 3 }), queue: fc.integer({ min: 1, max: 6 }) });
    await fc.assert(
      fc.asyncProperty(steps, sizes, async (script, { limit, queue }) => {
        const scene = new Scene({ workers: 3, limit, queue });
        const visitors: Visitor[] = [];
        const those = (fate: Fate): Visitor[] => visitors.filter((visitor) => visitor.fate === fate);
        const check = (): void => {
          assert.equal(those('runs').length, scene.running);
          assert.ok(scene.running <= limit, `${scene.running} run`);
          assert.equal(those('waits').length, scene.waiting);
          assert.ok(scene.waiting <= queue, `${scene.waiting} wait`);
          assertOrder(visitors);
        };
        for (const step of script) {
          if (step.act === 'arrive') visitors.push(scene.arrive(step.worker));
          else if (step.act === 'time') await scene.clock.advance(step.ms);
          else if (step.act === 'finish') those('runs')[step.which]?.finish();
          else those('waits')[step.which]?.goAway();
          check();
        }
        for (let round = 0; round < 60 && those('waits').length > 0; round += 1) {
          for (const visitor of those('runs')) visitor.finish();
          await scene.clock.advance(100);
          check();
        }
        assert.deepEqual(those('waits'), []);
        assert.deepEqual(those('timed out'), []);
      }),
      { numRuns: 60 },
    );
  });

  test('does not starve the requests of another worker while its own keep coming', async () => {
    const scene = new Scene({ workers: 2, limit: 1, queue: 100 });
    const visitors = [0, 0, 0, 0, 1, 0, 0].map((worker) => scene.arrive(worker));
    const other = visitors[4]!;
    for (let turn = 0; turn < 200 && other.fate === 'waits'; turn += 1) {
      visitors.find(({ fate }) => fate === 'runs')?.finish();
      visitors.push(scene.arrive(0));
      await scene.clock.advance(20);
    }
    assert.equal(other.fate, 'runs');
  });

  test('lets nobody pass: a newcomer joins it although a place is free for the moment', async () => {
    const scene = new Scene({ workers: 2, limit: 1, queue: 5 });
    const first = scene.arrive(0);
    const second = scene.arrive(1);
    first.finish();
    const third = scene.arrive(0);
    assert.equal(third.fate, 'waits');
    await scene.clock.advance(100);
    assert.deepEqual([second.fate, third.fate], ['runs', 'waits']);
  });

  test('ends for those who waited too long, and for no other', async () => {
    const scene = new Scene({ workers: 1, limit: 1, queue: 5, timeoutMs: 1000 });
    scene.arrive(0);
    const early = scene.arrive(0);
    await scene.clock.advance(600);
    const late = scene.arrive(0);
    await scene.clock.advance(600);
    assert.deepEqual([early.fate, late.fate], ['timed out', 'waits']);
    assert.equal(scene.table.sumFactTotals(SLOT, FACT_QUEUE_TIMEOUTS), 1);
  });

  test('sends everybody away when the server goes', async () => {
    const scene = new Scene({ workers: 1, limit: 1, queue: 5 });
    scene.arrive(0);
    const waiting = [scene.arrive(0), scene.arrive(0)];
    scene.word = MEMBER_DOWN;
    await scene.clock.advance(100);
    assert.deepEqual(
      waiting.map(({ fate }) => fate),
      ['sent away', 'sent away'],
    );
    assert.equal(scene.waiting, 0);
  });
});

/** Within a worker nobody runs or has run who came later than somebody who still waits. */
function assertOrder(visitors: readonly Visitor[]): void {
  for (const worker of [0, 1, 2]) {
    const own = visitors.filter((visitor) => visitor.worker === worker);
    const first = own.findIndex(({ fate }) => fate === 'waits');
    if (first < 0) continue;
    assert.equal(
      own.slice(first).some(({ fate }) => fate === 'runs'),
      false,
      'somebody was passed',
    );
  }
}

describe('what a pick sees', () => {
  const seen = (scene: Scene): number => scene.places[0]!.stateOf(0, scene.word);

  test('is FULL without a queue, or when that is full too, and WAIT otherwise', () => {
    const bare = new Scene({ workers: 1, limit: 1, queue: 0 });
    assert.equal(seen(bare), MEMBER_ELIGIBLE);
    bare.arrive(0);
    assert.equal(seen(bare), MEMBER_FULL);
    const queued = new Scene({ workers: 1, limit: 1, queue: 1 });
    queued.arrive(0);
    assert.equal(seen(queued), MEMBER_WAIT);
    queued.arrive(0);
    assert.equal(seen(queued), MEMBER_FULL);
  });

  test('of a draining server stays a drain, so that only its own clients wait for it', () => {
    const scene = new Scene({ workers: 1, limit: 1, queue: 1 });
    scene.arrive(0);
    scene.word = MEMBER_DRAIN;
    assert.equal(seen(scene), MEMBER_DRAIN);
    scene.arrive(0);
    assert.equal(seen(scene), MEMBER_FULL);
  });
});
