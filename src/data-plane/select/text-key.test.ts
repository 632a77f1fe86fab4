import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import type { PolicyPlan } from '../../shared/plan/types.ts';
import { MEMBER_DOWN, MEMBER_WAIT } from '../../shared/state-table/layout.ts';
import { fnv1a32, fnv1aText } from './hash.ts';
import { buildPolicy } from './index.ts';
import { COOKIE, identitiesOf, IP_HASH, makePool, makeRequest } from './policy.contract.ts';
import type { Policy } from './policy.ts';

const FIRST: PolicyPlan = { policy: 'first' };

function build(plan: PolicyPlan, size = 3): Policy {
  return buildPolicy(plan, { identities: identitiesOf(size) });
}

const byUser = (fallback: PolicyPlan = FIRST): Policy => build({ policy: 'header', field: 'X-User', fallback });
const user = (name: string): { headerValue: (field: string) => string } => ({
  headerValue: (field) => (field === 'x-user' ? name : ''),
});

/** Worked out with another program, for the identities app-1:3000, app-2:3000, app-3:3000. */
const PLACES: readonly (readonly [key: string, place: number])[] = [
  ['/index.html', 1],
  ['/test?a=1', 0],
  ['session-42', 2],
  ['alice', 1],
  ['caf\u00e9', 2],
];

describe('the rendezvous place of a text', () => {
  test('is fixed, whichever policy asks', () => {
    const pool = makePool(3);
    for (const [key, place] of PLACES) {
      assert.equal(build({ policy: 'uri_hash' }).pick(pool, makeRequest({ target: key })), place, key);
      assert.equal(byUser().pick(pool, makeRequest(user(key))), place, key);
      const query = build({ policy: 'query', key: 'q', fallback: FIRST });
      assert.equal(query.pick(pool, makeRequest({ queryValue: () => key })), place, key);
    }
  });

  test('changes for the clients of a lost server only', () => {
    fc.assert(
      fc.property(fc.string({ minLength: 1 }), fc.nat(3), (key, down) => {
        const pool = makePool(4);
        const policy = build({ policy: 'uri_hash' }, 4);
        const home = policy.pick(pool, makeRequest({ target: key }));
        pool.states[down] = MEMBER_DOWN;
        const place = policy.pick(pool, makeRequest({ target: key }));
        if (home === down) assert.notEqual(place, home);
        else assert.equal(place, home);
      }),
    );
  });

  test('changes for about one of N + 1 when a server is added', () => {
    const keys = Array.from({ length: 4000 }, (_, at) => `/page/${at}`);
    const before = build({ policy: 'uri_hash' }, 4);
    const after = build({ policy: 'uri_hash' }, 5);
    const moved = keys.filter((target) => {
      const [one, other] = [
        before.pick(makePool(4), makeRequest({ target })),
        after.pick(makePool(5), makeRequest({ target })),
      ];
      if (one !== other) assert.equal(other, 4);
      return one !== other;
    });
    assert.ok(moved.length > 600 && moved.length < 1000, `${moved.length} of 4000 moved`);
  });

  test('follows the weights', () => {
    const pool = makePool(2);
    pool.weights.splice(0, 2, 3, 1);
    const policy = build({ policy: 'uri_hash' }, 2);
    const places = Array.from({ length: 4000 }, (_, at) => policy.pick(pool, makeRequest({ target: `/${at}` })));
    const first = places.filter((place) => place === 0).length;
    assert.ok(first > 2850 && first < 3150, `${first} of 4000 on the one with weight 3`);
  });

  test('stays while its server is full and has room in its queue', () => {
    const pool = makePool(3);
    pool.states[1] = MEMBER_WAIT;
    assert.equal(build({ policy: 'uri_hash' }).pick(pool, makeRequest({ target: '/index.html' })), 1);
    assert.equal(build({ policy: 'random' }).pick(pool, makeRequest({ tried: [0, 2] })), -1);
  });
});

test('the hash of a text is that of its bytes on the wire', () => {
  fc.assert(
    fc.property(fc.uint8Array(), (bytes) => {
      assert.equal(fnv1aText(Buffer.from(bytes).toString('latin1')), fnv1a32(bytes));
    }),
  );
  assert.notEqual(fnv1aText('\u0141'), fnv1aText('A'));
});

describe('a request without the key', () => {
  test('goes where the fallback says, through a chain of them', () => {
    const pool = makePool(3);
    assert.equal(byUser().pick(pool, makeRequest()), 0);
    const chain = byUser({
      policy: 'query',
      key: 'user',
      fallback: { policy: 'header', field: 'Host', fallback: FIRST },
    });
    const asked = makeRequest({ headerValue: (name) => (name === 'host' ? 'session-42' : '') });
    assert.equal(chain.pick(pool, asked), 2);
    assert.match(chain.explain(pool, makeRequest()).join('\n'), /no header X-User came: the fallback query picks/);
  });

  test('has the affinity of the fallback; one with the key is a hit at its home and moved elsewhere', () => {
    const pool = makePool(3);
    const policy = byUser(IP_HASH);
    const keyless = makeRequest();
    policy.pick(pool, keyless);
    assert.equal(keyless.affinity, 'hit');
    const keyed = makeRequest(user('alice'));
    policy.pick(pool, keyed);
    assert.equal(keyed.affinity, 'hit');
    pool.states[1] = MEMBER_DOWN;
    policy.pick(pool, keyed);
    assert.equal(keyed.affinity, 'moved');
  });

  test('gets the cookie of a fallback, one with the key does not', () => {
    const pool = makePool(3);
    const policy = byUser(COOKIE);
    const keyless = makeRequest();
    const position = policy.pick(pool, keyless);
    assert.match(policy.answered(pool, keyless, position), /^lb=/);
    const keyed = makeRequest(user('alice'));
    assert.equal(policy.answered(pool, keyed, policy.pick(pool, keyed)), '');
  });
});

test('uri_hash has no affinity outcome', () => {
  const request = makeRequest({ target: '/index.html' });
  build({ policy: 'uri_hash' }).pick(makePool(3), request);
  assert.equal(request.affinity, '');
});

test('a cookie anywhere below a cookie is refused', () => {
  const below: PolicyPlan = { policy: 'header', field: 'X', fallback: { policy: 'query', key: 'q', fallback: COOKIE } };
  assert.throws(() => build({ ...COOKIE, fallback: below }), /cannot stand below/);
});
