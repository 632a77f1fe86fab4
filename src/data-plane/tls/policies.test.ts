import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ConfigError } from '../../shared/config-error.ts';
import type { TlsPolicyPlan } from '../../shared/plan/tls.ts';
import { TlsPolicies } from './policies.ts';

function policy(match: Partial<TlsPolicyPlan>): TlsPolicyPlan {
  return {
    ...{ sni: [], minVersion: 'TLSv1.2', maxVersion: 'TLSv1.3', ciphers: '', curves: 'auto', alpn: [] },
    ...{ clientAuth: null, anyTag: [], allTags: [], defaultSni: '', fallbackSni: '' },
    ...match,
  };
}

/** Positions of the policies that are found for each name and peer. */
function found(
  policies: readonly TlsPolicyPlan[],
  name: string,
  remoteAddress?: string,
  localAddress?: string,
): number {
  const all = new TlsPolicies({ listeners: [], policies, handshakeTimeoutMs: 1000, strictSniHost: false });
  const plan = all.find(name, { remoteAddress, localAddress })?.plan;
  return plan === undefined ? -1 : policies.indexOf(plan);
}

test('the first policy that matches counts, and one without conditions always does', () => {
  const policies = [policy({ sni: ['a.test'] }), policy({ sni: ['*.test'] }), policy({})];
  assert.equal(found(policies, 'a.test'), 0);
  assert.equal(found(policies, 'b.test'), 1);
  assert.equal(found(policies, 'a.b.test'), 2);
  assert.equal(found(policies.slice(0, 2), 'a.b.test'), -1);
});

test('an expression is looked for anywhere in the name', () => {
  const policies = [policy({ sniRegexp: 'a+b' })];
  assert.equal(found(policies, 'x-aab.test'), 0);
  assert.equal(found(policies, 'x-b.test'), -1);
  assert.equal(found(policies, ''), -1);
});

test('a peer is in a range whichever way its address is written, and a peer without one in none', () => {
  const policies = [policy({ remoteIp: { ranges: ['10.0.0.0/8', '2001:db8::/32'], notRanges: ['10.9.0.0/16'] } })];
  for (const address of ['10.1.2.3', '::ffff:10.1.2.3', '2001:db8::5', '2001:db8::5%eth0']) {
    assert.equal(found(policies, '', address), 0, address);
  }
  for (const address of ['10.9.0.1', '192.0.2.1', '2001:db9::1', undefined]) {
    assert.equal(found(policies, '', address), -1, address);
  }
});

test('with exceptions alone everybody else matches', () => {
  const policies = [policy({ remoteIp: { ranges: [], notRanges: ['10.0.0.0/8'] } })];
  assert.equal(found(policies, '', '192.0.2.1'), 0);
  assert.equal(found(policies, '', '10.0.0.1'), -1);
  // Over a Unix socket there is no address, so it is in no range.
  assert.equal(found(policies, '', undefined), 0);
});

test('our own address is compared too, and all conditions must hold', () => {
  const policies = [policy({ sni: ['a.test'], localIp: ['127.0.0.1'] })];
  assert.equal(found(policies, 'a.test', undefined, '::ffff:127.0.0.1'), 0);
  assert.equal(found(policies, 'a.test', undefined, '127.0.0.2'), -1);
  assert.equal(found(policies, 'b.test', undefined, '127.0.0.1'), -1);
});

test('policies that differ in what they match share no sessions', () => {
  const keyOf = (plan: TlsPolicyPlan): string | undefined =>
    new TlsPolicies({ listeners: [], policies: [plan], handshakeTimeoutMs: 1000, strictSniHost: false }).find(
      'a.test',
      {
        remoteAddress: '10.0.0.1',
      },
    )?.key;
  assert.notEqual(keyOf(policy({})), keyOf(policy({ sniRegexp: 'a' })));
  assert.equal(keyOf(policy({})), keyOf(policy({})));
});

test('what is no range and no expression is a ConfigError', () => {
  assert.throws(() => found([policy({ sniRegexp: '(' })], ''), ConfigError);
  assert.throws(() => found([policy({ localIp: ['lan'] })], ''), ConfigError);
});
