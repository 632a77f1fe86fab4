/** The files of examples/cluster go together. test/namespaces/cluster.test.ts runs them. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { checkConfig } from '../../src/cli/check-config.ts';

const FOLDER = fileURLToPath(new URL('../../examples/cluster/', import.meta.url));
const read = (name: string): string => readFileSync(`${FOLDER}${name}`, 'utf8');

function check(env: NodeJS.ProcessEnv): ReturnType<typeof checkConfig> {
  return checkConfig({ text: read('Caddyfile'), adapter: 'caddyfile', filename: `${FOLDER}Caddyfile` }, env);
}

test('the Caddyfile is valid', () => {
  assert.doesNotThrow(() => check({ LB_SECRET: 'the-same-long-secret-on-every-node-of-the-cluster' }));
});

test('a node whose secret was forgotten does not start with one of its own', () => {
  assert.throws(() => check({}), /secret/);
});

test('the name has every shared address, and the UDP server listens on them', () => {
  const shared = [...read('keepalived.conf').matchAll(/^\t\t([\d.]+)\/\d+$/gm)].map(([, address]) => address!);
  const named = [...read('zone').matchAll(/^\S+\s+A\s+(\S+)$/gm)].map(([, address]) => address!);
  const listening = [...read('Caddyfile').matchAll(/\{\$SHARED\d:([\d.]+)\}/g)].map(([, address]) => address!);
  assert.ok(shared.length > 1);
  assert.deepEqual(named, shared);
  assert.deepEqual(listening, shared);
});
