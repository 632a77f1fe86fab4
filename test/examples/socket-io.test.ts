/** The Socket.IO example: 200 clients that poll and upgrade, and a server that restarts under them. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import type { IncomingMessage } from 'node:http';
import { test, type TestContext } from 'node:test';
import { fileURLToPath } from 'node:url';
import { io, type Socket } from 'socket.io-client';
import { WebSocket } from 'ws';
import { eventually } from '../support/backend.ts';
import { startBalancer, type TestBalancer } from '../support/balance.ts';
import { freePort, startServer, type Program } from '../support/program.ts';

const FOLDER = fileURLToPath(new URL('../../examples/socket.io/', import.meta.url));
const CLIENTS = 200;
const LIMIT_MS = 60_000;

interface ChatServer {
  readonly name: string;
  readonly port: number;
  /** Session ids that were refused as unknown, in all its lives. */
  refused(): (string | null)[];
  start(): Promise<void>;
  kill(): Promise<void>;
}

async function prepareServer(t: TestContext, name: string): Promise<ChatServer> {
  const port = await freePort();
  const lives: Program[] = [];
  return {
    name,
    port,
    refused: () => lives.flatMap((life) => refusedIn(life.output())),
    async start() {
      const options = { cwd: FOLDER, env: { PORT: String(port), NAME: name } };
      lives.push(await startServer(t, process.execPath, ['server.js'], port, options));
    },
    kill: () => lives.at(-1)!.end(),
  };
}

function refusedIn(output: string): (string | null)[] {
  const lines = output.split('\n').filter((line) => line.startsWith('{'));
  return lines.map((line) => (JSON.parse(line) as { sid: string | null }).sid);
}

async function startSite(
  t: TestContext,
  caddyfile: string,
): Promise<{ readonly balancer: TestBalancer; readonly servers: readonly ChatServer[] }> {
  const servers = await Promise.all(['chat1', 'chat2', 'chat3'].map((name) => prepareServer(t, name)));
  await Promise.all(servers.map((server) => server.start()));
  const addresses = servers.map(({ name, port }) => [name.toUpperCase(), `127.0.0.1:${port}`] as const);
  const balancer = await startBalancer(t, readFileSync(FOLDER + caddyfile, 'utf8'), {
    env: { PORT: '0', ...Object.fromEntries(addresses) },
    admin: false,
    workers: 2,
  });
  return { balancer, servers };
}

interface ChatClient {
  readonly socket: Socket;
  /** It is never upgraded. */
  readonly polls: boolean;
  /** Name of the server that welcomed it last; '' before. */
  server: string;
  /** Its session ids, oldest first, with the server of each. */
  readonly sessions: { readonly sid: string; readonly server: string }[];
}

type ClientOptions = NonNullable<Parameters<typeof io>[1]>;

function openClients(
  t: TestContext,
  port: number,
  pollers: boolean,
  options: (index: number) => ClientOptions,
): ChatClient[] {
  const clients = Array.from({ length: CLIENTS }, (_, index): ChatClient => {
    const settings = { forceNew: true, reconnectionDelay: 50, reconnectionDelayMax: 300, timeout: LIMIT_MS };
    // A poller stays on long polling for good: each poll may use another connection.
    const polls = pollers && index % 10 === 0;
    const transports = polls ? ['polling'] : ['polling', 'websocket'];
    const socket = io(`http://127.0.0.1:${port}`, { ...settings, ...options(index), transports });
    const client: ChatClient = { socket, polls, server: '', sessions: [] };
    socket.on('welcome', ({ server, sid }: { server: string; sid: string }) => {
      client.server = server;
      client.sessions.push({ sid, server });
    });
    socket.on('disconnect', () => (client.server = ''));
    return client;
  });
  t.after(() => clients.forEach(({ socket }) => socket.disconnect()));
  return clients;
}

/** Everybody has been welcomed and, unless it only polls, upgraded. */
async function everybodyIn(clients: readonly ChatClient[]): Promise<void> {
  const isIn = ({ socket, server, polls }: ChatClient): boolean =>
    socket.connected && server !== '' && (polls || socket.io.engine.transport.name === 'websocket');
  await eventually(() => clients.every(isIn), `${CLIENTS} clients to be in`, LIMIT_MS);
}

/** Each says something on its session, and its own server answers. */
async function everybodySays(clients: readonly ChatClient[]): Promise<void> {
  const replies = clients.map(
    ({ socket }, index) =>
      socket.timeout(LIMIT_MS).emitWithAck('say', `hello ${index}`) as Promise<{ server: string; text: string }>,
  );
  for (const [index, reply] of (await Promise.all(replies)).entries()) {
    assert.deepEqual(reply, { server: clients[index]!.server, text: `hello ${index}` });
  }
}

/** Session ids that the lives of `server` made. */
function sessionsOf(clients: readonly ChatClient[], server: ChatServer): Set<string> {
  const all = clients.flatMap(({ sessions }) => sessions);
  return new Set(all.filter((session) => session.server === server.name).map(({ sid }) => sid));
}

function refusedBy(servers: readonly ChatServer[]): (string | null)[] {
  return servers.flatMap((server) => server.refused());
}

test('by cookie, 200 clients keep their sessions; only those of the restarted server begin anew', async (t) => {
  const { balancer, servers } = await startSite(t, 'Caddyfile');
  const clients = openClients(t, balancer.port, true, () => ({ withCredentials: true }));
  await everybodyIn(clients);
  await everybodySays(clients);
  assert.deepEqual(refusedBy(servers), []);
  const before = clients.map(({ server }) => server);
  const [first] = servers;
  const forgotten = sessionsOf(clients, first!);
  assert.ok(forgotten.size > 0 && forgotten.size < CLIENTS, `${forgotten.size} sessions on it`);
  await first!.kill();
  await first!.start();
  // A reconnection ends a client's disconnected state: wait for a second session of each first.
  const hit = clients.filter((_, index) => before[index] === first!.name);
  await eventually(() => hit.every(({ sessions }) => sessions.length > 1), 'new sessions', LIMIT_MS);
  await everybodyIn(clients);
  await everybodySays(clients);
  const strange = refusedBy(servers).filter((sid) => sid === null || !forgotten.has(sid));
  assert.deepEqual(strange, [], 'Session ID unknown for sessions of servers that live');
  for (const [index, { sessions }] of clients.entries()) {
    if (before[index] !== first!.name) assert.equal(sessions.length, 1, `client ${index} lost its session`);
  }
});

test('by address, 200 clients keep their sessions; those of a lost server go to one other and stay there', async (t) => {
  const { balancer, servers } = await startSite(t, 'Caddyfile.ip_hash');
  const clients = openClients(t, balancer.port, false, (index) => ({
    extraHeaders: { 'X-Forwarded-For': `203.0.113.${index}` },
  }));
  await everybodyIn(clients);
  await everybodySays(clients);
  assert.deepEqual(refusedBy(servers), []);
  const before = clients.map(({ server }) => server);
  const [first] = servers;
  const forgotten = sessionsOf(clients, first!);
  assert.ok(forgotten.size > 0 && forgotten.size < CLIENTS, `${forgotten.size} sessions on it`);
  await first!.kill();
  const hit = clients.filter((_, index) => before[index] === first!.name);
  await eventually(() => hit.every(({ sessions }) => sessions.length > 1), 'new sessions', LIMIT_MS);
  await everybodyIn(clients);
  await first!.start();
  await eventually(() => balancer.upstreams().every(({ state }) => state === 'up'), 'the server to be back', LIMIT_MS);
  await everybodySays(clients);
  const strange = refusedBy(servers).filter((sid) => sid === null || !forgotten.has(sid));
  assert.deepEqual(strange, []);
  for (const [index, { sessions }] of clients.entries()) {
    assert.equal(sessions.length, before[index] === first!.name ? 2 : 1, `client ${index}`);
  }
});

test('a WebSocket that is the first request gets the cookie with the 101', async (t) => {
  const { balancer, servers } = await startSite(t, 'Caddyfile');
  const client = new WebSocket(`ws://127.0.0.1:${balancer.port}/socket.io/?EIO=4&transport=websocket`);
  t.after(() => client.terminate());
  // Listened for before the upgrade is there: the first message may come in the same bytes.
  const first = once(client, 'message') as Promise<[Buffer]>;
  const [answer] = (await once(client, 'upgrade')) as [IncomingMessage];
  const lines = answer.headers['set-cookie'] ?? [];
  assert.equal(lines.length, 1);
  assert.match(lines[0]!, /^chat_home=/);
  // Engine.IO's own first packet: the session is open.
  const [packet] = await first;
  assert.match(String(packet), /^0\{"sid":/);
  assert.deepEqual(refusedBy(servers), []);
});
