/** Policies that belong to one layer, and what is said about Maglev tables. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { checkConfig, type CheckedConfig } from '../../cli/check-config.ts';

function check(text: string): CheckedConfig {
  return checkConfig({ text, adapter: 'caddyfile', filename: 'Caddyfile' }, {});
}

function http(policy: string, upstreams = 'a b'): string {
  return `http://:80 {\nreverse_proxy ${upstreams} {\nlb_policy ${policy}\n}\n}\n`;
}

function layer4(policy: string, prefix = '', options = ''): string {
  const upstreams = `${prefix}a:1 ${prefix}b:1`;
  return `{\nlayer4 {\n${prefix}:1 {\n${options}\nroute {\nproxy ${upstreams} {\nlb_policy ${policy}\n}\n}\n}\n}\n}\n`;
}

describe('a policy for one layer', () => {
  test('is taken there', () => {
    for (const policy of ['source_hash', 'weighted_least_conn']) {
      assert.equal(check(http(policy)).compiled.pools[0]!.section.policy.policy, policy);
      assert.equal(check(layer4(policy)).compiled.pools[0]!.section.policy.policy, policy);
    }
    assert.equal(check(layer4('tuple_hash')).compiled.pools[0]!.section.policy.policy, 'tuple_hash');
    assert.equal(check(layer4('tuple_hash', 'udp/')).compiled.pools[0]!.section.policy.policy, 'tuple_hash');
    assert.equal(check(layer4('quic_cid', 'udp/')).compiled.pools[0]!.section.policy.policy, 'quic_cid');
  });

  test('is refused elsewhere, also below another, with its line', () => {
    const refused = (text: string, message: RegExp): void => {
      assert.throws(() => check(text), { name: 'ConfigError', message });
    };
    refused(http('tuple_hash'), /'tuple_hash' places connections .*, at Caddyfile:3/);
    refused(http('header X {\nfallback tuple_hash\n}'), /'tuple_hash' places connections .*, at Caddyfile:4/);
    refused(http('quic_cid'), /'quic_cid' reads datagrams .*, at Caddyfile:3/);
    refused(layer4('quic_cid'), /'quic_cid' reads datagrams .*, at Caddyfile:7/);
    refused(layer4('quic_cid', 'udp/', 'workers all'), /workers all does not go with lb_policy quic_cid.*Caddyfile:4/);
  });
});

describe('source_hash', () => {
  test('takes what makes the key of ip_hash, in the same ranges, and nothing else', () => {
    const { policy } = check(http('source_hash {\nseed 7\nipv4_prefix 24\nipv6_prefix 56\nnat64 2001:db8:64::/96\n}'))
      .compiled.pools[0]!.section;
    assert.deepEqual(policy, {
      policy: 'source_hash',
      seed: 7,
      ipv4Prefix: 24,
      ipv6Prefix: 56,
      nat64: ['2001:db8:64::/96'],
    });
    for (const option of ['seed -1', 'ipv4_prefix 0', 'ipv4_prefix 33', 'ipv6_prefix 129', 'nat64 10.0.0.0/8']) {
      assert.throws(() => check(http(`source_hash {\n${option}\n}`)), /Caddyfile:4/, option);
    }
    assert.throws(() => check(http('source_hash {\nbalance_factor 1.5\n}')), /unrecognized option 'balance_factor'/);
  });

  test('counts weights without a word, and warns of a missing check and of a pool that is too large', () => {
    const said = (text: string): string =>
      check(text)
        .warnings.map(({ message }) => message)
        .join('\n');
    const weighted = layer4('source_hash')
      .replace('a:1 b:1', 'b:1')
      .replace('lb_policy', 'upstream a:1 {\nweight 3\n}\nlb_policy');
    assert.doesNotMatch(said(weighted), /weight/);
    assert.match(said(weighted.replace('source_hash', 'ip_hash')), /weight/);
    assert.match(said(http('source_hash')), /source_hash without active health checks/);
    const many = Array.from({ length: 656 }, (_, nth) => `s${nth}`).join(' ');
    assert.match(said(http('source_hash', many)), /source_hash shares 65537 places .* with 656 of them, more than 655/);
    assert.doesNotMatch(said(http('source_hash', many.replace(' s655', ''))), /places/);
  });
});
