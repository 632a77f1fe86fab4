/** `GET /events`: what happens, as it happens. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { AdminApi } from '../support/admin-api.ts';
import { startBackend } from '../support/backend.ts';
import { startBalancer } from '../support/balance.ts';
import { proxyTo, site } from '../support/site.ts';

const OPTIONS = { timeout: 60_000 };
const ADMIN = { admin: '127.0.0.1:0' };

interface SentEvent {
  readonly event: string;
  readonly data: { readonly type: string; readonly message: string; readonly at: string };
}

/** The events of a stream one after the other; comments are left out. */
async function* eventsOf(response: Response): AsyncGenerator<SentEvent> {
  const decoder = new TextDecoder();
  let text = '';
  for await (const chunk of response.body!) {
    text += decoder.decode(chunk, { stream: true });
    for (let end = text.indexOf('\n\n'); end >= 0; end = text.indexOf('\n\n')) {
      const [, event, data] = /^event: (.*)\ndata: (.*)$/.exec(text.slice(0, end)) ?? [];
      text = text.slice(end + 2);
      if (event !== undefined && data !== undefined) yield { event, data: JSON.parse(data) };
    }
  }
}

test('reloads, checks and operators are seen in the order they happen', OPTIONS, async (t) => {
  const server = await startBackend(t, 'server');
  const config = (body: string): string =>
    site(`respond /x ${body}\n${proxyTo([server], 'health_uri /\nhealth_interval 100ms')}`, ADMIN);
  const balancer = await startBalancer(t, config('one'));
  const response = await fetch(`${new AdminApi(balancer).origin}/events`);
  assert.equal(response.headers.get('content-type'), 'text/event-stream');
  const events = eventsOf(response);
  const nextOf = async (type: string): Promise<SentEvent> => {
    for (;;) {
      const { value, done } = await events.next();
      assert.notEqual(done, true, `no ${type} came`);
      if (value.event === type) return value;
    }
  };
  await balancer.reload(config('two'));
  assert.match((await nextOf('reload')).data.message, /generation 2/);
  await server.kill();
  const down = await nextOf('server-down');
  assert.equal(down.data.type, 'server-down');
  assert.ok(Number.isFinite(Date.parse(down.data.at)));
  balancer.patchUpstream(`127.0.0.1:${server.port}`, { adminState: 'drain' });
  await nextOf('admin-state');
  await events.return(undefined);
});

test('a client that reads events does not hold up the end', OPTIONS, async (t) => {
  const balancer = await startBalancer(t, site('respond x', ADMIN));
  const response = await fetch(`${new AdminApi(balancer).origin}/events`);
  const reading = (async () => {
    const seen: string[] = [];
    for await (const { event } of eventsOf(response)) seen.push(event);
    return seen;
  })();
  assert.equal(response.headers.get('connection'), 'close');
  await balancer.stop();
  await reading;
});
