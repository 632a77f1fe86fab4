/** A browser in front of the balancer: pages, cookies over navigation, an upload, a WebSocket, an EventSource. */
import assert from 'node:assert/strict';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { test, type TestContext } from 'node:test';
import { WebSocketServer } from 'ws';
import { eventually } from '../support/backend.ts';
import { site, startBalancer } from '../support/balance.ts';
import { findProgram, startProgram, temporaryFolder, unlessInstalled } from '../support/program.ts';

const BROWSER = findProgram('chromium', 'chromium-browser', 'google-chrome');
const STEPS = 5;

/** What the page does: each part reports, then it goes to the next page, as a link would. */
const SCRIPT = `
const report = (what, value) => fetch('/report?what=' + what, { method: 'POST', body: String(value) });
const step = Number(location.pathname.split('/')[2]);
const parts = {
  async upload() {
    const body = new Uint8Array(1 << 20).map((_, index) => index * 7 + (index >> 8));
    const response = await fetch('/echo', { method: 'POST', body });
    const echoed = new Uint8Array(await response.arrayBuffer());
    return echoed.length === body.length && echoed.every((byte, index) => byte === body[index]);
  },
  websocket: () => new Promise((resolve, reject) => {
    const socket = new WebSocket('ws://' + location.host + '/socket');
    socket.onopen = () => socket.send('from the page');
    socket.onmessage = ({ data }) => { resolve(data); socket.close(1000); };
    socket.onerror = () => reject(new Error('the WebSocket failed'));
  }),
  events: () => new Promise((resolve, reject) => {
    const source = new EventSource('/events');
    source.onmessage = ({ data }) => { resolve(data); source.close(); };
    source.onerror = () => reject(new Error('the EventSource failed'));
  }),
  cookie: async () => document.cookie === '' ? 'hidden from scripts' : document.cookie,
};
(async () => {
  if (step === 1) {
    for (const [name, part] of Object.entries(parts)) await report(name, await part().catch(String));
  }
  await report('page', step);
  if (step < ${STEPS}) location.href = '/step/' + (step + 1);
})();
`;

interface Report {
  readonly server: string;
  readonly what: string;
  readonly value: string;
}

/** One of the servers of the site; adds to `reports` what its pages say, and to `streams` its event streams. */
async function startPages(
  t: TestContext,
  server: string,
  reports: Report[],
  streams: ServerResponse[],
): Promise<number> {
  const http = createServer((request, response) => void answer(request, response));
  const answer = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const { pathname, searchParams } = new URL(request.url!, 'http://localhost');
    if (pathname.startsWith('/step/')) {
      response.setHeader('Content-Type', 'text/html');
      response.end(`<!doctype html><title>${server}</title><script>${SCRIPT}</script>`);
    } else if (pathname === '/report') {
      reports.push({ server, what: searchParams.get('what') ?? '', value: await text(request) });
      response.end();
    } else if (pathname === '/echo') {
      request.pipe(response);
    } else if (pathname === '/events') {
      streams.push(response.writeHead(200, { 'Content-Type': 'text/event-stream' }));
      response.write('data: an event\n\n');
    } else {
      response.writeHead(404).end();
    }
  };
  const sockets = new WebSocketServer({ server: http, path: '/socket' });
  sockets.on('connection', (socket) =>
    socket.on('message', (data: Buffer) => socket.send(`${server} got ${String(data)}`)),
  );
  await new Promise<void>((resolve) => http.listen(0, '127.0.0.1', resolve));
  t.after(() => {
    for (const socket of sockets.clients) socket.terminate();
    http.closeAllConnections();
    http.close();
  });
  return (http.address() as AddressInfo).port;
}

test(
  'Chromium: stays on its server from page to page, uploads, and talks over WebSocket and EventSource',
  { skip: unlessInstalled(BROWSER, 'chromium') },
  async (t) => {
    const reports: Report[] = [];
    const streams: ServerResponse[] = [];
    const ports = await Promise.all(['a', 'b', 'c'].map((name) => startPages(t, name, reports, streams)));
    const upstreams = ports.map((port) => `127.0.0.1:${port}`).join(' ');
    const policy = 'lb_policy cookie {\nfallback round_robin\n}';
    const balancer = await startBalancer(t, site(`reverse_proxy ${upstreams} {\n${policy}\n}`));
    const flags = ['--headless', '--no-sandbox', '--disable-gpu', '--disable-dev-shm-usage', '--no-proxy-server'];
    const quiet = ['--no-first-run', '--disable-background-networking', '--disable-component-update', '--disable-sync'];
    const profile = `--user-data-dir=${await temporaryFolder(t)}`;
    const url = `http://127.0.0.1:${balancer.port}/step/1`;
    const browser = startProgram(t, BROWSER!, [...flags, ...quiet, profile, '--remote-debugging-port=0', url], {
      endSignal: 'SIGTERM',
    });
    const lastPage = (): boolean => reports.some(({ what, value }) => what === 'page' && value === String(STEPS));
    await eventually(lastPage, 'the last page', 60_000).catch((error: unknown) => {
      throw new Error(`${String(error)}; reports ${JSON.stringify(reports)}; ${browser.output().slice(-2000)}`);
    });
    const [{ server }] = reports as [Report];
    assert.deepEqual(
      reports.map((report) => [report.server, report.what, report.value]),
      [
        [server, 'upload', 'true'],
        [server, 'websocket', `${server} got from the page`],
        [server, 'events', 'an event'],
        [server, 'cookie', 'hidden from scripts'],
        ...Array.from({ length: STEPS }, (_, step) => [server, 'page', String(step + 1)]),
      ],
    );
    await eventually(() => streams.every((stream) => stream.closed), 'the streams of left pages to end');
    await browser.end();
  },
);
