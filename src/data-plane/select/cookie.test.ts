import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { ConfigError } from '../../shared/config-error.ts';
import type { CookiePlan } from '../../shared/plan/types.ts';
import {
  MEMBER_DOWN,
  MEMBER_DRAIN,
  MEMBER_ELIGIBLE,
  MEMBER_INITIAL,
  MEMBER_MAINT,
} from '../../shared/state-table/layout.ts';
import { caddyValue } from './cookie-caddy.ts';
import { buildPolicy } from './index.ts';
import { COOKIE, identitiesOf, makePool, makeRequest, type TestPool } from './policy.contract.ts';
import type { PickRequest, Policy } from './policy.ts';

const PLAN: CookiePlan = { ...COOKIE, fallback: { policy: 'first' } };

function build(changes: Partial<CookiePlan> = {}, identities = identitiesOf(3)): Policy {
  return buildPolicy({ ...PLAN, ...changes }, { identities });
}

interface Outcome {
  readonly position: number;
  readonly affinity: string;
  readonly setCookie: string;
}

/** One exchange in which `failing` members do not answer. */
function exchange(
  policy: Policy,
  pool: TestPool,
  changes: Partial<PickRequest> = {},
  failing: readonly number[] = [],
): Outcome {
  const tried: number[] = [];
  const request = makeRequest({ ...changes, tried });
  let position = policy.pick(pool, request);
  while (failing.includes(position)) {
    tried.push(position);
    position = policy.pick(pool, request);
  }
  return {
    position,
    affinity: request.affinity,
    setCookie: position < 0 ? '' : policy.answered(pool, request, position),
  };
}

/** A cookie that names `position`, as a browser sends it back. */
function cookieFor(policy: Policy, position: number, changes: Partial<PickRequest> = {}): string {
  const setCookie = policy.answered(makePool(3), makeRequest({ stickyAction: 'issue', ...changes }), position);
  return setCookie.split(';')[0]!;
}

describe('cookie', () => {
  test('without a cookie the fallback picks and one is set', () => {
    const { position, affinity, setCookie } = exchange(build(), makePool(3));
    assert.deepEqual([position, affinity], [0, 'new']);
    assert.match(setCookie, /^lb=[A-Za-z0-9_-]{56}; Path=\/; HttpOnly; SameSite=Lax$/);
  });

  test('a valid cookie leads to its server and nothing is set', () => {
    const policy = build();
    const cookies = `a=b; ${cookieFor(policy, 2)}; c=d`;
    assert.deepEqual(exchange(policy, makePool(3), { cookies }), { position: 2, affinity: 'hit', setCookie: '' });
  });

  test('the first of two cookies of the name counts', () => {
    const policy = build();
    const cookies = `${cookieFor(policy, 2)}; ${cookieFor(policy, 1)}`;
    assert.equal(exchange(policy, makePool(3), { cookies }).position, 2);
  });

  test('over TLS it is Secure and SameSite=None', () => {
    assert.match(exchange(build(), makePool(3), { secure: true }).setCookie, /; Secure; SameSite=None$/);
  });

  test('garbage is replaced once, then the new one stays', () => {
    const policy = build();
    const first = exchange(policy, makePool(3), { cookies: 'lb=garbage' });
    assert.equal(first.affinity, 'new');
    const cookies = first.setCookie.split(';')[0]!;
    assert.deepEqual(exchange(policy, makePool(3), { cookies }), { position: 0, affinity: 'hit', setCookie: '' });
  });

  for (const [word, state] of [
    ['down', MEMBER_DOWN],
    ['in maintenance', MEMBER_MAINT],
  ] as const) {
    test(`a client of a server that is ${word} moves, gets a new cookie and does not flap back`, () => {
      const policy = build();
      const pool = makePool(3);
      pool.states[2] = state;
      const moved = exchange(policy, pool, { cookies: cookieFor(policy, 2) });
      assert.deepEqual([moved.position, moved.affinity], [0, 'moved']);
      pool.states[2] = MEMBER_ELIGIBLE;
      const cookies = moved.setCookie.split(';')[0]!;
      assert.deepEqual(exchange(policy, pool, { cookies }), { position: 0, affinity: 'hit', setCookie: '' });
    });
  }

  test('a client of a draining server stays, new clients do not come', () => {
    const policy = build();
    const pool = makePool(3);
    pool.states[0] = MEMBER_DRAIN;
    assert.deepEqual(exchange(policy, pool, { cookies: cookieFor(policy, 0) }), {
      position: 0,
      affinity: 'hit',
      setCookie: '',
    });
    assert.equal(exchange(policy, pool).position, 1);
  });

  test('a server not proven yet is passed over for this request and the cookie stays', () => {
    const policy = build();
    const pool = makePool(3);
    pool.states[2] = MEMBER_INITIAL;
    assert.deepEqual(exchange(policy, pool, { cookies: cookieFor(policy, 2) }), {
      position: 0,
      affinity: 'moved',
      setCookie: '',
    });
  });

  test('a refused dial to the named server moves the client before anybody marks the server down', () => {
    const policy = build();
    const pool = makePool(3);
    const moved = exchange(policy, pool, { cookies: cookieFor(policy, 1) }, [1]);
    assert.deepEqual([moved.position, moved.affinity], [0, 'moved']);
    assert.equal(exchange(policy, pool, { cookies: moved.setCookie.split(';')[0]! }).position, 0);
  });

  test('a server that was tried in vain has no passing reason any more', () => {
    const policy = build();
    const pool = makePool(3);
    pool.states[2] = MEMBER_INITIAL;
    const request = makeRequest({ cookies: cookieFor(policy, 2), tried: [2] });
    assert.equal(policy.pick(pool, request), 0);
    assert.equal(request.stickyAction, 'issue');
  });

  test('after retries the cookie names the server that answered', () => {
    const policy = build();
    const pool = makePool(3);
    const { position, affinity, setCookie } = exchange(policy, pool, {}, [0, 1]);
    assert.deepEqual([position, affinity], [2, 'new']);
    assert.equal(exchange(policy, pool, { cookies: setCookie.split(';')[0]! }).position, 2);
  });

  test('with nobody left there is no pick and no cookie', () => {
    const policy = build();
    assert.deepEqual(exchange(policy, makePool(3), { cookies: cookieFor(policy, 1) }, [0, 1, 2]), {
      position: -1,
      affinity: 'moved',
      setCookie: '',
    });
  });

  test('a cookie of a removed server moves its client', () => {
    const cookies = cookieFor(build(), 2);
    const { position, affinity, setCookie } = exchange(build({}, identitiesOf(2)), makePool(2), { cookies });
    assert.deepEqual([position, affinity], [0, 'moved']);
    assert.notEqual(setCookie, '');
  });

  test('cookies follow the server, not its place', () => {
    const cookies = cookieFor(build(), 2);
    assert.equal(exchange(build({}, identitiesOf(3).toReversed()), makePool(3), { cookies }).position, 0);
  });

  test('the first secret signs, all verify', () => {
    const old = cookieFor(build({ secrets: ['old'] }), 2);
    const rotated = build({ secrets: ['new', 'old'] });
    assert.equal(exchange(rotated, makePool(3), { cookies: old }).affinity, 'hit');
    assert.equal(
      exchange(build({ secrets: ['new'] }), makePool(3), { cookies: cookieFor(rotated, 2) }).affinity,
      'hit',
    );
    assert.equal(exchange(build({ secrets: ['new'] }), makePool(3), { cookies: old }).affinity, 'new');
  });

  test('a cookie of another name is not accepted under this one', () => {
    const cookies = cookieFor(build({ name: 'other' }), 2).replace('other=', 'lb=');
    assert.equal(exchange(build(), makePool(3), { cookies }).affinity, 'new');
  });

  test('explain says what the cookie named and whom the fallback picked, and no secret or value', () => {
    const policy = build();
    const pool = makePool(3);
    pool.states[2] = MEMBER_DOWN;
    const cookies = cookieFor(policy, 2);
    const sentences = policy.explain(pool, makeRequest({ cookies }));
    assert.equal(sentences[0], "the cookie 'lb' names upstream 2 (app-3:3000), down");
    assert.equal(sentences.at(-1), 'picked upstream 0 (app-1:3000)');
    assert.ok(!sentences.join().includes(cookies.slice(3)));
  });

  test('cookie below cookie is refused', () => {
    assert.throws(() => build({ fallback: COOKIE }), ConfigError);
  });
});

describe('the lifetime of a cookie', () => {
  const issued = Date.UTC(2030, 0, 1, 12, 0, 30);
  const policy = build({ maxAgeSeconds: 3600 });
  const cookies = cookieFor(policy, 2, { wallMs: issued });
  const after = (minutes: number) => exchange(policy, makePool(3), { cookies, wallMs: issued + minutes * 60_000 });

  test('goes into Max-Age', () => assert.match(after(61).setCookie, /; Max-Age=3600;/));

  test('leaves it alone in its first half', () => {
    assert.deepEqual(after(0), { position: 2, affinity: 'hit', setCookie: '' });
    assert.deepEqual(after(29), { position: 2, affinity: 'hit', setCookie: '' });
  });

  test('renews it in its second half, for the same server and from now on', () => {
    const renewed = after(31);
    assert.deepEqual([renewed.position, renewed.affinity], [2, 'hit']);
    const again = { cookies: renewed.setCookie.split(';')[0]!, wallMs: issued + 60 * 60_000 };
    assert.deepEqual(exchange(policy, makePool(3), again), { position: 2, affinity: 'hit', setCookie: '' });
  });

  test('ends it: an older value counts as none', () => {
    assert.equal(after(60).affinity, 'hit', 'the minute it was issued in counts for the client');
    const late = after(62);
    assert.deepEqual([late.position, late.affinity], [0, 'new']);
    assert.notEqual(late.setCookie, '');
  });

  test('does not end a session cookie', () => {
    const session = build();
    const value = cookieFor(session, 2, { wallMs: issued });
    const late = exchange(session, makePool(3), { cookies: value, wallMs: issued + 400 * 86_400_000 });
    assert.deepEqual(late, { position: 2, affinity: 'hit', setCookie: '' });
  });
});

describe('format caddy', () => {
  const secret = PLAN.secrets[0]!;

  test('writes the value Caddy writes', () => {
    const { setCookie } = exchange(build({ format: 'caddy' }), makePool(3));
    assert.equal(setCookie.split(';')[0], `lb=${caddyValue(secret, 'app-1:3000')}`);
  });

  test('both formats are accepted whichever is written', () => {
    const caddy = `lb=${caddyValue(secret, 'app-3:3000')}`;
    const own = cookieFor(build(), 2);
    for (const format of ['v1', 'caddy'] as const) {
      for (const cookies of [caddy, own]) {
        const outcome = exchange(build({ format }), makePool(3), { cookies });
        assert.deepEqual(outcome, { position: 2, affinity: 'hit', setCookie: '' }, `${format} ${cookies}`);
      }
    }
  });

  test('a value of another secret counts as none', () => {
    const cookies = `lb=${caddyValue('other', 'app-3:3000')}`;
    assert.equal(exchange(build(), makePool(3), { cookies }).affinity, 'new');
  });
});
