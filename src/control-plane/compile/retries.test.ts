/** `lb_retry_match`, `request_buffers` and passive checks: from config to plan. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { at, compileJson, configOf, proxy, type Json } from '../../../test/support/config-fixtures.ts';

const HANDLER = 'apps.http.servers.srv0.routes.0.handle.0';

function compiled(fields: Json) {
  return compileJson(configOf([proxy(['app:80', 'app2:80'], fields)]));
}

function handlerOf(fields: Json) {
  const { sections } = compiled(fields).compiled;
  for (const section of sections.values()) {
    if (section.kind !== 'site') continue;
    const [handler] = section.route.handle;
    if (handler?.handler === 'reverse_proxy') return handler;
    if (handler?.handler !== 'subroute') continue;
    const inner = handler.routes[0]?.handle[0];
    if (inner?.handler === 'reverse_proxy') return inner;
  }
  throw new Error('no reverse_proxy');
}

test('sets of lb_retry_match and request_buffers belong to the handler', () => {
  const match = [
    { method: ['POST'], path: ['/a'] },
    { expression: { expr: '{http.reverse_proxy.status_code} == 503', name: 'm' } },
  ];
  const handler = handlerOf({ load_balancing: { retry_match: match }, request_buffers: 4096 });
  assert.deepEqual(handler.retryMatch, [
    [
      { kind: 'path', paths: ['/a'] },
      { kind: 'method', methods: ['POST'] },
    ],
    [{ kind: 'expression', expression: '{http.reverse_proxy.status_code} == 503' }],
  ]);
  assert.equal(handler.requestBufferBytes, 4096);
  const plain = handlerOf({});
  assert.deepEqual([plain.retryMatch, plain.requestBufferBytes], [[], 0]);
});

test('a fault of an expression is reported at its own line', () => {
  const json = configOf([
    proxy(['app:80'], {
      load_balancing: { retry_match: [{ method: ['GET'] }, { expression: '{http.request.host} == 1' }] },
    }),
  ]);
  const positions = new Map([
    ['apps', at(1)],
    [HANDLER, at(3)],
    [`${HANDLER}.load_balancing.retry_match.1`, at(7)],
  ]);
  assert.throws(() => compileJson(json, { positions }), /a text never equals an integer.*, at Caddyfile:7$/);
});

test('passive checks need fail_duration, and get the defaults of the reference', () => {
  const [pool] = compiled({ health_checks: { passive: { fail_duration: '10s' } } }).compiled.pools;
  assert.deepEqual(pool?.section.passive, {
    failDurationMs: 10_000,
    maxFails: 1,
    unhealthyStatus: [],
    unhealthyLatencyMs: 0,
    failRatio: 0,
    minRequests: 10,
  });
  for (const passive of [
    {},
    { max_fails: 3 },
    { unhealthy_status: [5] },
    { unhealthy_latency: '1s' },
    { fail_ratio: 0.5 },
  ]) {
    const result = compiled({ health_checks: { passive } });
    assert.equal(result.compiled.pools[0]?.section.passive, null);
    const warned = result.warnings.some(({ message }) => message.includes('need fail_duration'));
    assert.equal(warned, Object.keys(passive).length > 0, JSON.stringify(passive));
  }
});

test('pools that differ in their passive checks are two pools', () => {
  const one = compiled({ health_checks: { passive: { fail_duration: '10s' } } }).compiled.pools[0];
  const two = compiled({ health_checks: { passive: { fail_duration: '11s' } } }).compiled.pools[0];
  assert.notEqual(one?.hash, two?.hash);
});
