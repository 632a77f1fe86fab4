import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:http';
import { test, type TestContext } from 'node:test';
import { askRenewalInfo, certificateId } from './renewal-info.ts';

/** The example of RFC 9773, appendix A. */
const RFC_EXAMPLE = `-----BEGIN CERTIFICATE-----
MIIBQzCB66ADAgECAgUAh2VDITAKBggqhkjOPQQDAjAVMRMwEQYDVQQDEwpFeGFt
cGxlIENBMCIYDzAwMDEwMTAxMDAwMDAwWhgPMDAwMTAxMDEwMDAwMDBaMBYxFDAS
BgNVBAMTC2V4YW1wbGUuY29tMFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAEeBZu
7cbpAYNXZLbbh8rNIzuOoqOOtmxA1v7cRm//AwyMwWxyHz4zfwmBhcSrf47NUAFf
qzLQ2PPQxdTXREYEnKMjMCEwHwYDVR0jBBgwFoAUaYhba4dGQEHhs3uEe6CuLN4B
yNQwCgYIKoZIzj0EAwIDRwAwRAIge09+S5TZAlw5tgtiVvuERV6cT4mfutXIlwTb
+FYN/8oCIClDsqBklhB9KAelFiYt9+6FDj3z4KGVelYM5MdsO3pK
-----END CERTIFICATE-----`;
const NOW = Date.UTC(2026, 0, 1);
const DAY_MS = 86_400_000;
const facts = { random: { next: () => 0.25 }, wallMs: NOW };

async function startAuthority(
  t: TestContext,
  answer: { status?: number; body: unknown; retryAfter?: string },
): Promise<{ url: string; asked: string[] }> {
  const asked: string[] = [];
  const server = createServer((request, response) => {
    asked.push(request.url ?? '');
    const { host } = request.headers;
    if (request.url === '/dir') {
      response.end(JSON.stringify({ renewalInfo: `http://${host}/ari` }));
      return;
    }
    if (answer.retryAfter !== undefined) response.setHeader('Retry-After', answer.retryAfter);
    response.statusCode = answer.status ?? 200;
    response.end(typeof answer.body === 'string' ? answer.body : JSON.stringify(answer.body));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(() => server.close());
  const address = server.address();
  return { url: `http://127.0.0.1:${typeof address === 'object' ? address?.port : 0}/dir`, asked };
}

test('a certificate is named by the key of its issuer and its serial number', async () => {
  assert.equal(await certificateId(RFC_EXAMPLE), 'aYhba4dGQEHhs3uEe6CuLN4ByNQ.AIdlQyE');
});

test('a moment within the suggested window is chosen, and the authority says when to look again', async (t) => {
  const suggestedWindow = { start: '2026-01-02T00:00:00Z', end: '2026-01-06T00:00:00Z' };
  const { url, asked } = await startAuthority(t, { body: { suggestedWindow }, retryAfter: '7200' });
  assert.deepEqual(await askRenewalInfo(url, [], 'a.b', facts), { renewAt: NOW + 2 * DAY_MS, nextLookMs: 7_200_000 });
  assert.deepEqual(asked, ['/dir', '/ari/a.b']);
});

test('nonsense, refusals and silence say nothing', async (t) => {
  const nothing = { renewAt: null, nextLookMs: 6 * 3_600_000 };
  for (const answer of [
    { body: 'no json' },
    { body: {} },
    { body: { suggestedWindow: { start: 'x', end: 'y' } } },
    { body: { suggestedWindow: { start: '2026-01-06T00:00:00Z', end: '2026-01-02T00:00:00Z' } } },
    { body: {}, status: 404 },
  ]) {
    const { url } = await startAuthority(t, answer);
    assert.deepEqual(await askRenewalInfo(url, [], 'a.b', facts), nothing, JSON.stringify(answer));
  }
  assert.deepEqual(await askRenewalInfo('http://127.0.0.1:1/dir', [], 'a.b', facts), nothing);
});
