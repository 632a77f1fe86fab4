import assert from 'node:assert/strict';
import { test } from 'node:test';
import { configOf, policy, proxy, SECRET } from '../../../test/support/config-fixtures.ts';
import { redactSecrets, restoreSecrets } from './redact.ts';

const full = configOf([
  proxy(['a:80'], {
    ...policy({ policy: 'cookie', name: 'lb', secret: SECRET, secrets: [`${SECRET}1`, `${SECRET}2`] }),
    health_checks: { active: { uri: '/', headers: { Authorization: ['Bearer abc'], Accept: ['*/*'] } } },
  }),
]);

test('secrets and credentials leave as ***, everything else as it is', () => {
  const shown = redactSecrets(full);
  assert.deepEqual(
    shown,
    configOf([
      proxy(['a:80'], {
        ...policy({ policy: 'cookie', name: 'lb', secret: '***', secrets: ['***', '***'] }),
        health_checks: { active: { uri: '/', headers: { Authorization: ['***'], Accept: ['*/*'] } } },
      }),
    ]),
  );
  assert.ok(!JSON.stringify(shown).includes(SECRET));
});

test('what was read back can be written again without losing a secret', () => {
  assert.deepEqual(restoreSecrets(redactSecrets(full), full), full);
});

test('a new secret replaces the old one and its neighbours are kept', () => {
  const written = configOf([proxy(['a:80'], policy({ policy: 'cookie', secret: 'new', secrets: ['***'] }))]);
  assert.deepEqual(
    restoreSecrets(written, full),
    configOf([proxy(['a:80'], policy({ policy: 'cookie', secret: 'new', secrets: [`${SECRET}1`] }))]),
  );
});

test('*** where there is no secret to keep is an error that names the path', () => {
  const written = configOf([proxy(['a:80'], policy({ policy: 'cookie', secret: '***' }))]);
  const path = /apps\.http\.servers\.srv0\.routes\.0\.handle\.0\.load_balancing\.selection_policy\.secret: /;
  assert.throws(() => restoreSecrets(written, configOf([proxy(['a:80'])])), path);
  assert.throws(() => restoreSecrets(written, null), path);
  assert.throws(() => restoreSecrets(written, redactSecrets(full)), path);
});

test('*** elsewhere is a text like any other', () => {
  const json = configOf([{ handler: 'static_response', body: '***' }]);
  assert.deepEqual(restoreSecrets(json, {}), json);
});

test('neither function changes what it is given', () => {
  const before = JSON.stringify(full);
  const shown = redactSecrets(full);
  restoreSecrets(shown, full);
  assert.equal(JSON.stringify(full), before);
});

test('password hashes of accounts leave as ***, their names as they are', () => {
  const provider = { hash: { algorithm: 'bcrypt' }, accounts: [{ username: 'ann', password: '$2b$04$x' }] };
  const config = { handle: [{ handler: 'authentication', providers: { http_basic: provider } }] };
  const shown = JSON.stringify(redactSecrets(config));
  assert.ok(shown.includes('{"username":"ann","password":"***"}'), shown);
  assert.deepEqual(restoreSecrets(redactSecrets(config), config), config);
});
