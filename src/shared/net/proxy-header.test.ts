import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseIp } from './ip.ts';
import { localProxyHeader, proxyHeader, type ProxiedClient } from './proxy-header.ts';

function client(address: string, more: Partial<ProxiedClient> = {}): ProxiedClient {
  const peer = parseIp(address);
  return { client: peer, peer, peerPort: 51_000, localAddress: '192.0.2.9', localPort: 443, ...more };
}

function hex(header: string): string {
  return Buffer.from(header, 'latin1').toString('hex');
}

const SIGNATURE = '0d0a0d0a000d0a515549540a';

test('v1 is one line of text', () => {
  assert.equal(proxyHeader('v1', client('198.51.100.7')), 'PROXY TCP4 198.51.100.7 192.0.2.9 51000 443\r\n');
  assert.equal(
    proxyHeader('v1', client('2001:db8::7', { localAddress: '2001:db8::1' })),
    'PROXY TCP6 2001:db8::7 2001:db8::1 51000 443\r\n',
  );
});

test('v2 is binary: version and command, family, length, addresses, ports', () => {
  assert.equal(hex(proxyHeader('v2', client('198.51.100.7'))), `${SIGNATURE}2111000cc6336407c0000209c73801bb`);
  const six = hex(proxyHeader('v2', client('2001:db8::7', { localAddress: '2001:db8::1' })));
  assert.equal(six, `${SIGNATURE}2121002420010db800000000000000000000000720010db8000000000000000000000001c73801bb`);
});

test('a client behind a trusted proxy has an address and no port', () => {
  const behind = client('10.0.0.1', { client: parseIp('203.0.113.5') });
  assert.equal(proxyHeader('v1', behind), 'PROXY TCP4 203.0.113.5 192.0.2.9 0 443\r\n');
});

test('a destination of the other family is zero, a mapped address is IPv4', () => {
  assert.equal(proxyHeader('v1', client('2001:db8::7')), 'PROXY TCP6 2001:db8::7 :: 51000 0\r\n');
  const mapped = client('198.51.100.7', { localAddress: '::ffff:192.0.2.9' });
  assert.equal(proxyHeader('v1', mapped), 'PROXY TCP4 198.51.100.7 192.0.2.9 51000 443\r\n');
});

test('without a client there is no address', () => {
  assert.equal(proxyHeader('v1', client('nonsense')), 'PROXY UNKNOWN\r\n');
  assert.equal(hex(localProxyHeader('v2')), `${SIGNATURE}20000000`);
});
