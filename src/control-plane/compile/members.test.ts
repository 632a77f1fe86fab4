import assert from 'node:assert/strict';
import { test } from 'node:test';
import { at, compileJson, configOf, policy, proxy } from '../../../test/support/config-fixtures.ts';
import type { Json } from '../../../test/support/config-fixtures.ts';
import type { PoolSpec } from './compiled.ts';

const HANDLER = 'apps.http.servers.srv0.routes.0.handle.0';

function handler(upstreams: readonly Json[], rest: Json = {}): Json {
  return configOf([{ handler: 'reverse_proxy', upstreams, ...rest }]);
}

function pool(upstreams: readonly Json[], rest: Json = {}): PoolSpec {
  return compileJson(handler(upstreams, rest)).compiled.pools[0]!;
}

function warnings(upstreams: readonly Json[], rest: Json = {}): readonly string[] {
  return compileJson(handler(upstreams, rest)).warnings.map(({ message }) => message);
}

test('options of an upstream reach the plane that needs them', () => {
  const spec = pool([{ dial: 'a:1', weight: 3, backup: true, slow_start: '30s', max_requests: 9 }, { dial: 'b:1' }]);
  const [first, second] = spec.members;
  assert.deepEqual([first?.weight, first?.backup, first?.slowStartMs, first?.maxRequests], [3, true, 30_000, 9]);
  assert.deepEqual(second, { upstream: 'b:1', identity: 'b:1', host: 'b', port: 1 });
  assert.deepEqual(spec.section.members, [
    { upstream: 'a:1', identity: 'a:1', maxRequests: 9 },
    { upstream: 'b:1', identity: 'b:1' },
  ]);
});

test('each option is part of the hash of the pool; a default that is written out is not', () => {
  const variants: readonly Json[] = [{}, { weight: 2 }, { backup: true }, { slow_start: '1s' }, { max_requests: 1 }];
  const hashes = variants.map((options) => pool([{ dial: 'a:1', ...options }, { dial: 'b:1' }]).hash);
  assert.equal(new Set(hashes).size, variants.length);
  const defaults = { weight: 1, backup: false, slow_start: 0, max_requests: 0 };
  assert.equal(pool([{ dial: 'a:1', ...defaults }, { dial: 'b:1' }]).hash, hashes[0]);
  const queued = (queue: Json): string => pool([{ dial: 'a:1', max_requests: 1 }], { load_balancing: { queue } }).hash;
  assert.notEqual(queued({ size: 1 }), queued({ size: 2 }));
  assert.equal(queued({ size: 1 }), queued({ size: 1, timeout: '10s' }));
});

test('weights of weighted_round_robin are those of the upstreams, wherever in the chain it stands', () => {
  const weighted = { policy: 'weighted_round_robin', weights: [2, 0, 5] };
  const chain = { policy: 'header', field: 'X', fallback: { policy: 'query', key: 'q', fallback: weighted } };
  for (const selection of [weighted, chain]) {
    const { members } = pool([{ dial: 'a:1' }, { dial: 'b:1' }, { dial: 'c:1' }], policy(selection));
    assert.deepEqual(
      members.map(({ weight }) => weight),
      [2, 0, 5],
    );
  }
});

test('weights that contradict each other, or are too few, or all 0, are errors with their place', () => {
  const fails = (json: Json, message: RegExp): void => {
    const positions = new Map([
      [HANDLER, at(2)],
      [`${HANDLER}.load_balancing.selection_policy`, at(7)],
      [`${HANDLER}.upstreams.1.weight`, at(4)],
    ]);
    assert.throws(() => compileJson(json, { positions }), message);
  };
  const weights = policy({ policy: 'weighted_round_robin', weights: [2, 3] });
  fails(configOf([proxy(['a:1'], weights)]), /one weight an upstream: 2 for 1, at Caddyfile:7/);
  fails(
    handler([{ dial: 'a:1' }, { dial: 'b:1', weight: 9 }], weights),
    /b:1 has weight 9 here and 3 in lb_policy, at Caddyfile:4/,
  );
  fails(
    handler([
      { dial: 'a:1', weight: 0 },
      { dial: 'b:1', weight: 0 },
    ]),
    /every upstream has weight 0.*Caddyfile:2/,
  );
});

test('unhealthy_request_count limits the upstreams that have no limit', () => {
  const passive = { health_checks: { passive: { unhealthy_request_count: 5 } } };
  const spec = pool([{ dial: 'a:1', max_requests: 2 }, { dial: 'b:1' }], passive);
  assert.deepEqual(
    spec.members.map(({ maxRequests }) => maxRequests),
    [2, 5],
  );
});

test('what a policy will not honour is told', () => {
  const heavy = [{ dial: 'a:1', weight: 2 }, { dial: 'b:1' }, { dial: 'c:1' }];
  const slow = [{ dial: 'a:1', slow_start: '9s' }, { dial: 'b:1' }, { dial: 'c:1' }];
  const checked = { health_checks: { active: { uri: '/' } } };
  assert.match(
    warnings(heavy, { ...policy({ policy: 'ip_hash' }), ...checked }).join(),
    /hash mod N\) pays no attention to weights/,
  );
  assert.match(warnings(heavy, policy({ policy: 'round_robin' })).join(), /round_robin pays no attention to weights/);
  assert.match(warnings(slow, policy({ policy: 'first' })).join(), /first knows no slow start/);
  assert.deepEqual(warnings(heavy, { ...policy({ policy: 'ip_hash', mapping: 'rendezvous' }), ...checked }), []);
  assert.deepEqual(warnings(slow, policy({ policy: 'least_conn' })), []);
  assert.deepEqual(warnings([{ dial: 'a:1', weight: 0 }, { dial: 'b:1' }], policy({ policy: 'first' })), []);
});

test('a queue without limits, and a pool of backups alone, are told', () => {
  assert.match(
    warnings([{ dial: 'a:1' }], { load_balancing: { queue: { size: 1 } } }).join(),
    /no upstream has max_requests/,
  );
  assert.match(warnings([{ dial: 'a:1', backup: true }]).join(), /every upstream is a backup, so none is/);
});
