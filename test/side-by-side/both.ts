/** Debian's Caddy and Holdfast with the same sites over the same servers, and what each makes of the same requests. */
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { eventually } from '../support/backend.ts';
import { startBalancer } from '../support/balance.ts';
import { findProgram, freePort, startServer, temporaryFolder } from '../support/program.ts';
import { ask } from '../support/raw-client.ts';
import { startRecorder, type RecordedRequest, type Recorder } from '../support/recorder.ts';

export const CADDY: string | undefined = findProgram('caddy');

/** A line for each thing that a client or a server can see. */
export type Seen = readonly string[];

export interface Both {
  /** Puts this site in force in both. `A` and `B` in it are the addresses of the servers. */
  load(site: string, globals: string): Promise<void>;
  caddy(request: string): Promise<Seen>;
  holdfast(request: string): Promise<Seen>;
}

/** Framing and connections are between neighbours, and clocks differ. */
const NOT_COMPARED = new Set(['connection', 'keep-alive', 'content-length', 'transfer-encoding', 'date']);

const ANSWER = [
  'Content-Type: text/plain',
  'Server: origin/1',
  'X-Powered-By: origin',
  'Set-Cookie: a=1; Path=/',
  'Set-Cookie: b=2',
  'Cache-Control: max-age=5',
  'Location: http://origin.internal/next',
];

export async function startBoth(t: TestContext): Promise<Both> {
  const servers = new Map<string, Recorder>([
    ['A', await startServerNamed(t, 'A')],
    ['B', await startServerNamed(t, 'B')],
  ]);
  const fill = (site: string): string =>
    site.replace(/\b[AB]\b(?=[\s{]|$)/g, (name) => `127.0.0.1:${servers.get(name)!.port}`);
  const adminPort = await freePort();
  const caddyPort = await freePort();
  const caddyText = (site: string, globals: string): string =>
    `{\nadmin 127.0.0.1:${adminPort}\nauto_https off\n${globals}\n}\nhttp://:${caddyPort} {\nbind 127.0.0.1\n${fill(site)}\n}\n`;
  await startCaddy(t, caddyText('respond "not yet"', ''), adminPort);
  const ownText = (site: string, globals: string): string =>
    `{\nadmin off\nauto_https off\n${globals}\n}\nhttp://:0 {\nbind 127.0.0.1\n${fill(site)}\n}\n`;
  const balancer = await startBalancer(t, ownText('respond "not yet"', ''));
  const look = (port: number) => async (request: string) => {
    const before = new Map([...servers].map(([name, { requests }]) => [name, requests.length]));
    const client = await answerSeen(port, request);
    const atServers = [...servers].flatMap(([name, { requests }]) =>
      requests.slice(before.get(name)).flatMap((received) => requestSeen(name, received)),
    );
    return [...atServers, ...client].map((line) =>
      line.replaceAll(`:${port}`, ':PORT').replaceAll(/(127\.0\.0\.1):\d+/g, '$1:ANY'),
    );
  };
  return {
    async load(site, globals) {
      await loadCaddy(adminPort, caddyText(site, globals));
      await balancer.reload(ownText(site, globals));
    },
    caddy: look(caddyPort),
    holdfast: look(balancer.port),
  };
}

async function startServerNamed(t: TestContext, name: string): Promise<Recorder> {
  return startRecorder(t, (socket, { line }) => {
    const [method = '', target = ''] = line.split(' ');
    const status = target.includes('teapot')
      ? "418 I'm a teapot"
      : target.includes('created')
        ? '201 Created'
        : '200 OK';
    const body = method === 'HEAD' ? '' : `${name} got ${line}`;
    const length = `Content-Length: ${body.length}`;
    socket.write(`HTTP/1.1 ${status}\r\n${[...ANSWER, length].join('\r\n')}\r\n\r\n${body}`, 'latin1');
  });
}

async function startCaddy(t: TestContext, config: string, adminPort: number): Promise<void> {
  const folder = await temporaryFolder(t);
  await writeFile(join(folder, 'Caddyfile'), config);
  const env = { HOME: folder, XDG_DATA_HOME: folder, XDG_CONFIG_HOME: folder };
  const args = ['run', '--config', join(folder, 'Caddyfile'), '--adapter', 'caddyfile'];
  await startServer(t, CADDY!, args, adminPort, { env });
  await eventually(async () => (await fetch(`http://127.0.0.1:${adminPort}/config/`)).ok, 'the admin API of Caddy');
}

async function loadCaddy(adminPort: number, body: string): Promise<void> {
  const headers = { 'Content-Type': 'text/caddyfile', 'Cache-Control': 'must-revalidate' };
  const signal = AbortSignal.timeout(15_000);
  const response = await fetch(`http://127.0.0.1:${adminPort}/load`, { method: 'POST', headers, body, signal });
  if (!response.ok) throw new Error(`Caddy refuses: ${await response.text()}`);
}

function requestSeen(server: string, { line, fields, rawBody }: RecordedRequest): string[] {
  const compared = fields.map((field): [string, string] => {
    const colon = field.indexOf(':');
    return [field.slice(0, colon), field.slice(colon + 1).trim()];
  });
  return [`${server} < ${line}`, ...fieldsSeen(`${server} <`, compared), `${server} < body ${unchunked(rawBody)}`];
}

async function answerSeen(port: number, request: string): Promise<string[]> {
  const [head = '', body = ''] = request.split('\n\n');
  const length = body === '' ? [] : [`Content-Length: ${body.length}`];
  const lines = [...head.trim().split('\n'), ...length, 'Connection: close'];
  const response = await ask(port, `${lines.join('\r\n')}\r\n\r\n${body}`).catch(() => null);
  if (response === null) return ['client > no answer'];
  const { status, fields } = response;
  return [`client > ${status}`, ...fieldsSeen('client >', fields), `client > body ${JSON.stringify(response.body)}`];
}

function fieldsSeen(where: string, fields: readonly (readonly [string, string])[]): string[] {
  const compared = fields.filter(([name]) => !NOT_COMPARED.has(name.toLowerCase()));
  return compared.map(([name, value]) => `${where} ${name.toLowerCase()}: ${value}`).toSorted();
}

/** Only short bodies in one chunk are sent here. */
function unchunked(body: string): string {
  return /^[0-9a-f]+\r\n([\s\S]*)\r\n0\r\n\r\n$/.exec(body)?.[1] ?? body;
}
