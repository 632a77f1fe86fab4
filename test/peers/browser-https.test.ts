/** A browser over HTTPS: the internal authority, sticky cookies by scheme, other sites, a proxy in front that ends TLS. */
import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { test, type TestContext } from 'node:test';
import { eventually } from '../support/backend.ts';
import { startBalancer } from '../support/balance.ts';
import { TestAuthority } from '../support/certificates.ts';
import { findProgram, freePort, runProgram, startProgram, startServer, unlessInstalled } from '../support/program.ts';

const BROWSER = findProgram('chromium', 'chromium-browser', 'google-chrome');
const CERTUTIL = findProgram('certutil');
const NGINX = findProgram('nginx');
const NEEDS = unlessInstalled(BROWSER, 'chromium') || unlessInstalled(CERTUTIL, 'certutil');
const OPTIONS = { skip: NEEDS, timeout: 120_000 };

interface Report {
  readonly server: string;
  readonly page: string;
  readonly cookie: string;
}

/** Of each page the one it goes to, as a link would; '' = the last one. */
type Tour = Readonly<Record<string, string>>;

/** One of the servers of a site: reports which pages were asked of it, and goes on. */
async function startPages(t: TestContext, server: string, tour: Tour, reports: Report[]): Promise<number> {
  const http = createServer((request, response) => void answer(request, response));
  const answer = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const page = `${request.headers.host?.replace(/:\d+$/, '')}${request.url}`;
    await text(request);
    if (!request.url!.startsWith('/page/')) {
      response.writeHead(404).end();
      return;
    }
    reports.push({ server, page, cookie: request.headers.cookie ?? '' });
    const next = tour[page] ?? '';
    const script = next === '' ? '' : `location.href = ${JSON.stringify(next)};`;
    response.setHeader('Content-Type', 'text/html');
    response.end(`<!doctype html><title>${server}</title><script>${script}</script>`);
  };
  await new Promise<void>((resolve) => http.listen(0, '127.0.0.1', resolve));
  t.after(() => {
    http.closeAllConnections();
    http.close();
  });
  return (http.address() as AddressInfo).port;
}

/** A home whose browser trusts the authority and nobody else. */
async function homeThatTrusts(t: TestContext, rootFile: string): Promise<string> {
  const home = mkdtempSync(join(tmpdir(), 'holdfast-home-'));
  t.after(() => rmSync(home, { recursive: true, force: true, maxRetries: 5 }));
  const store = join(home, '.pki/nssdb');
  mkdirSync(store, { recursive: true });
  const database = ['-d', `sql:${store}`];
  for (const args of [
    [...database, '-N', '--empty-password'],
    [...database, '-A', '-t', 'C,,', '-n', 'test root', '-i', rootFile],
  ]) {
    const { code, stderr } = await runProgram(CERTUTIL!, args);
    assert.equal(code, 0, stderr);
  }
  return home;
}

/** Opens the page and waits until `last` was asked for. */
async function browse(
  t: TestContext,
  home: string,
  url: string,
  reports: readonly Report[],
  last: string,
): Promise<void> {
  const flags = ['--headless', '--no-sandbox', '--disable-gpu', '--disable-dev-shm-usage', '--no-proxy-server'];
  const quiet = ['--no-first-run', '--disable-background-networking', '--disable-component-update', '--disable-sync'];
  const names = '--host-resolver-rules=MAP *.test 127.0.0.1';
  const profile = `--user-data-dir=${join(home, 'profile')}`;
  const args = [...flags, ...quiet, names, profile, '--remote-debugging-port=0', url];
  const browser = startProgram(t, BROWSER!, args, { env: { HOME: home }, endSignal: 'SIGTERM' });
  await eventually(() => reports.some(({ page }) => page === last), `the page ${last}`, 60_000).catch(
    (error: unknown) => {
      throw new Error(`${String(error)}; reports ${JSON.stringify(reports)}; ${browser.output().slice(-2000)}`);
    },
  );
  await browser.end();
}

function dataDir(t: TestContext): string {
  const folder = mkdtempSync(join(tmpdir(), 'holdfast-data-'));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

test(
  'Chromium over HTTPS of the internal authority stays on its server, also when it comes from another site',
  OPTIONS,
  async (t) => {
    const port = await freePort();
    const [shop, other] = [`https://shop.test:${port}`, `https://other.test:${port}`];
    const tour: Tour = {
      'shop.test/page/1': '/page/2',
      'shop.test/page/2': `${other}/page/3`,
      // From another site back to the first.
      'other.test/page/3': `${shop}/page/4`,
      'shop.test/page/4': '/page/5',
      'shop.test/page/5': '',
    };
    const reports: Report[] = [];
    const ports = await Promise.all(['a', 'b', 'c'].map((name) => startPages(t, name, tour, reports)));
    const upstreams = ports.map((upstream) => `127.0.0.1:${upstream}`).join(' ');
    const folder = dataDir(t);
    const config = `{
  admin off
  auto_https disable_redirects
  default_bind 127.0.0.1
}
shop.test:${port} {
  tls internal
  reverse_proxy ${upstreams} {
    lb_policy cookie {
      fallback round_robin
    }
  }
}
other.test:${port} {
  tls internal
  reverse_proxy 127.0.0.1:${ports[0]}
}
`;
    await startBalancer(t, config, { dataDir: folder });
    const home = await homeThatTrusts(t, join(folder, 'pki/authorities/local/root.crt'));
    await browse(t, home, `${shop}/page/1`, reports, 'shop.test/page/5');
    const own = reports.filter(({ page }) => page.startsWith('shop.test'));
    assert.deepEqual(
      own.map(({ page }) => page),
      [1, 2, 4, 5].map((nth) => `shop.test/page/${nth}`),
    );
    assert.equal(new Set(own.map(({ server }) => server)).size, 1, JSON.stringify(own));
    assert.equal(own[0]!.cookie, '');
    for (const { cookie } of own.slice(1)) assert.match(cookie, /^lb=/);
  },
);

test(
  'Chromium behind nginx that ends TLS: cookies are as for HTTPS, and affinity holds over sites',
  {
    ...OPTIONS,
    skip: NEEDS || unlessInstalled(NGINX, 'nginx'),
  },
  async (t) => {
    const authority = await TestAuthority.create(t);
    const leaf = await authority.leaf('front', ['shop.test', 'other.test']);
    const [secure, plain] = [await freePort(), await freePort()];
    const shop = `https://shop.test:${secure}`;
    const tour: Tour = {
      'shop.test/page/1': `https://other.test:${secure}/page/2`,
      'other.test/page/2': `${shop}/page/3`,
      'shop.test/page/3': '/page/4',
      'shop.test/page/4': '',
    };
    const reports: Report[] = [];
    const ports = await Promise.all(['a', 'b', 'c'].map((name) => startPages(t, name, tour, reports)));
    const upstreams = ports.map((upstream) => `127.0.0.1:${upstream}`).join(' ');
    const config = `{
  admin off
  auto_https off
  servers {
    trusted_proxies static 127.0.0.1/32
  }
}
http://:${plain} {
  bind 127.0.0.1
  reverse_proxy ${upstreams} {
    lb_policy cookie {
      fallback round_robin
    }
  }
}
`;
    await startBalancer(t, config);
    const folder = dataDir(t);
    writeFileSync(
      join(folder, 'nginx.conf'),
      `daemon off; master_process off; pid ${folder}/pid; error_log stderr crit;
events { worker_connections 64; }
http {
  access_log off; client_body_temp_path ${folder}/b; proxy_temp_path ${folder}/p; fastcgi_temp_path ${folder}/f;
  uwsgi_temp_path ${folder}/u; scgi_temp_path ${folder}/s;
  server {
    listen 127.0.0.1:${secure} ssl http2; ssl_certificate ${leaf.certificateFile}; ssl_certificate_key ${leaf.keyFile};
    location / {
      proxy_pass http://127.0.0.1:${plain}; proxy_http_version 1.1; proxy_set_header Host $http_host;
      proxy_set_header X-Forwarded-Proto $scheme; proxy_set_header X-Forwarded-For $remote_addr;
    }
  }
}
`,
    );
    await startServer(t, NGINX!, ['-p', folder, '-c', join(folder, 'nginx.conf')], secure);
    // The scheme is what the proxy in front says.
    for (const [proto, attributes] of [
      ['https', /; Path=\/; HttpOnly; Secure; SameSite=None$/],
      ['http', /; Path=\/; HttpOnly; SameSite=Lax$/],
    ] as const) {
      const response = await fetch(`http://127.0.0.1:${plain}/page/9`, { headers: { 'X-Forwarded-Proto': proto } });
      await response.text();
      assert.match(response.headers.getSetCookie()[0] ?? '', attributes);
    }
    const home = await homeThatTrusts(t, authority.rootFile);
    await browse(t, home, `${shop}/page/1`, reports, 'shop.test/page/4');
    const own = reports.filter(({ page }) => page.startsWith('shop.test'));
    assert.deepEqual(
      own.map(({ page }) => page),
      [1, 3, 4].map((nth) => `shop.test/page/${nth}`),
    );
    assert.equal(new Set(own.map(({ server }) => server)).size, 1, JSON.stringify(own));
    for (const { cookie } of own.slice(1)) assert.match(cookie, /^lb=/);
  },
);
