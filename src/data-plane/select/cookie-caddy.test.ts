import assert from 'node:assert/strict';
import { test } from 'node:test';
import { caddyDial, caddyPositions, caddyValue } from './cookie-caddy.ts';

test('values are the ones Caddy writes', () => {
  assert.equal(caddyValue('', '127.0.0.1:8001'), '862b52478cf818ffb842ff9a0aaccc241cd70c774a2c671377c615ecb807c239');
  assert.equal(caddyValue('', '127.0.0.1:8002'), '0cccb9f41947bc74c3e5fe8e617e09b02266f6ca23ab37864524fa392dc78964');
  assert.equal(
    caddyValue('s3cret', '127.0.0.1:8001'),
    'ab06427c763ccd181769ad38899d595b3c916bba85f3395d4b1e80b7ab4a8756',
  );
  assert.equal(
    caddyValue('s3cret', '127.0.0.1:8002'),
    '0b63205d980bd7a696a7daa7a75cbb261b92419819e6fec496b761e2eeff3d1b',
  );
});

test('an identity gets back the default port that Caddy dials', () => {
  assert.equal(caddyDial('app'), 'app:80');
  assert.equal(caddyDial('app:3000'), 'app:3000');
  assert.equal(caddyDial('[::1]'), '[::1]:80');
  assert.equal(caddyDial('[::1]:3000'), '[::1]:3000');
});

test('values of all secrets lead to their member, the first of equal ones', () => {
  const positions = caddyPositions(['new', 'old'], ['app', 'b:1', 'app']);
  assert.equal(positions.get(caddyValue('new', 'b:1')), 1);
  assert.equal(positions.get(caddyValue('old', 'b:1')), 1);
  assert.equal(positions.get(caddyValue('old', 'app:80')), 0);
  assert.equal(positions.get(caddyValue('older', 'b:1')), undefined);
});
