import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { CertificatePlan, TlsPolicyPlan } from '../../shared/plan/tls.ts';
import { CertificateSet } from './certificate-set.ts';

const ANY: TlsPolicyPlan = {
  sni: [],
  minVersion: 'TLSv1.2',
  maxVersion: 'TLSv1.3',
  ciphers: '',
  curves: 'auto',
  alpn: [],
  clientAuth: null,
  anyTag: [],
  allTags: [],
  defaultSni: '',
  fallbackSni: '',
};

function certificate(
  id: string,
  names: readonly string[],
  tags: readonly string[] = [],
  keyType = 'ec',
): CertificatePlan {
  return { id, names, tags, keyType, chain: '', key: '', ocsp: null };
}

function find(set: CertificateSet, name: string, policy: Partial<TlsPolicyPlan> = {}, local = '10.0.0.1'): string[] {
  return set.find({ ...ANY, ...policy }, name, local).map(({ id }) => id);
}

function filled(): CertificateSet {
  const set = new CertificateSet();
  const wild = certificate('wild', ['*.shop.test']);
  set.update([wild, certificate('exact', ['www.shop.test']), certificate('ip', ['10.0.0.1'])], []);
  return set;
}

test('an exact name wins over a wildcard, which stands for one label', () => {
  assert.deepEqual(find(filled(), 'www.shop.test'), ['exact']);
  assert.deepEqual(find(filled(), 'api.shop.test'), ['wild']);
  assert.deepEqual(find(filled(), 'a.b.shop.test'), []);
  assert.deepEqual(find(filled(), 'shop.test'), []);
});

test('who names nobody gets the default, or what belongs to the address', () => {
  assert.deepEqual(find(filled(), '', { defaultSni: 'www.shop.test' }), ['exact']);
  assert.deepEqual(find(filled(), ''), ['ip']);
  assert.deepEqual(find(filled(), '', {}, '10.0.0.2'), []);
});

test('fallback_sni is for names without a certificate alone', () => {
  assert.deepEqual(find(filled(), 'other.test', { fallbackSni: 'api.shop.test' }), ['wild']);
  assert.deepEqual(find(filled(), 'www.shop.test', { fallbackSni: 'api.shop.test' }), ['exact']);
});

test('a policy with tags takes no others, and shows what it has rather than nothing', () => {
  const set = filled();
  set.update([certificate('tagged', ['tagged.test'], ['cert0', 'b'])], []);
  assert.deepEqual(find(set, 'www.shop.test', { anyTag: ['cert0'] }), ['tagged']);
  assert.deepEqual(find(set, 'tagged.test', { allTags: ['cert0', 'b'] }), ['tagged']);
  assert.deepEqual(find(set, 'tagged.test', { allTags: ['cert0', 'c'] }), []);
});

test('a name may have one certificate of each key type; the first of a type stays', () => {
  const set = new CertificateSet();
  const rsa = certificate('rsa', ['a.test'], [], 'rsa');
  set.update([certificate('ec', ['a.test']), rsa, certificate('second', ['a.test'])], []);
  assert.deepEqual(find(set, 'a.test'), ['ec', 'rsa']);
  set.update([], ['ec']);
  assert.deepEqual(find(set, 'a.test'), ['rsa', 'second']);
  set.update([], ['rsa', 'second', 'unknown']);
  assert.deepEqual(find(set, 'a.test'), []);
});
