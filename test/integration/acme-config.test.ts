import assert from 'node:assert/strict';
import { chmodSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { AdminApi } from '../support/admin-api.ts';
import { dataFolder } from '../support/acme-site.ts';
import { startBalancer } from '../support/balance.ts';
import { freePort } from '../support/program.ts';

test('a program is run only when the file of the command line, or the embedding program, has named it', async (t) => {
  const folder = dataFolder(t);
  const [known, unknown] = [join(folder, 'known.sh'), join(folder, 'unknown.sh')];
  for (const hook of [known, unknown]) {
    writeFileSync(hook, '#!/bin/sh\nexit 1\n');
    chmodSync(hook, 0o755);
  }
  const [http, https] = [await freePort(), await freePort()];
  const config = (hook: string, answer: string): string =>
    `{\n\tadmin localhost:0\n\thttp_port ${http}\n\thttps_port ${https}\n\tdefault_bind 127.0.0.1\n\tacme_ca https://127.0.0.1:1/dir\n}\n` +
    `*.example.com {\n\ttls {\n\t\tdns hook ${hook}\n\t}\n\trespond "${answer}"\n}\n`;
  const balancer = await startBalancer(t, config(known, 'one'), { dataDir: folder });
  const api = new AdminApi(balancer);
  const load = async (hook: string, answer: string): Promise<number> =>
    (await api.post('/load', config(hook, answer), { 'Content-Type': 'text/caddyfile' })).status;
  assert.equal(await load(known, 'two'), 200);
  const refused = await api.post('/load', config(unknown, 'three'), { 'Content-Type': 'text/caddyfile' });
  assert.equal(refused.status, 400);
  assert.match(refused.text, /unknown\.sh may be run only when it is named in the file given on the command line/);
  await balancer.reload(config(unknown, 'four'));
  assert.equal(await load(unknown, 'five'), 200);
});
