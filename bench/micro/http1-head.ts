/**
 * Nanoseconds per head: `node bench/micro/http1-head.ts`. `all` is what a connection pays: find the end, make the string,
 * parse it.
 */
import { Head } from '../../src/data-plane/http1/head.ts';
import { DEFAULT_HEAD_LIMITS } from '../../src/data-plane/http1/limits.ts';
import { parseRequestHead } from '../../src/data-plane/http1/request-parser.ts';
import { parseResponseHead } from '../../src/data-plane/http1/response-parser.ts';
import { findHeadEnd } from '../../src/data-plane/http1/scan.ts';

const ROUNDS = 5;
const PARSES = 400_000;

const SMALL_REQUEST =
  'GET /index.html?page=1 HTTP/1.1\r\nHost: www.example.com\r\nUser-Agent: wrk/4.2.0 (test)\r\n' +
  'Accept: */*\r\nConnection: keep-alive\r\n\r\n';
const BROWSER_REQUEST =
  'GET /shop/cart/items/4711?sort=price&order=asc HTTP/1.1\r\nHost: shop.example.com\r\n' +
  'User-Agent: Mozilla/5.0 (X11; Linux x86_64; rv:128.0) Gecko/20100101 Firefox/128.0\r\n' +
  'Accept: text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8\r\nAccept-Language: en-US,en;q=0.5\r\n' +
  'Accept-Encoding: gzip, deflate, br\r\nReferer: https://shop.example.com/shop/cart\r\nConnection: keep-alive\r\n' +
  'Cookie: session=0123456789abcdef0123456789abcdef; lb=AQEtZ0d5c2FtcGxldmFsdWVzYW1wbGU\r\n' +
  'Upgrade-Insecure-Requests: 1\r\n\r\n';
const RESPONSE =
  'HTTP/1.1 200 OK\r\nServer: test\r\nDate: Mon, 30 Nov 2026 09:00:00 GMT\r\n' +
  'Content-Type: text/plain\r\nContent-Length: 45\r\n\r\n';

/** Best of several rounds, in CPU time: on a busy machine the wall clock measures the neighbours. */
function cpuNs(run: () => void): number {
  let best = Infinity;
  for (let round = 0; round < ROUNDS; round += 1) {
    const before = process.cpuUsage();
    for (let count = 0; count < PARSES; count += 1) run();
    best = Math.min(best, (process.cpuUsage(before).user * 1000) / PARSES);
  }
  return best;
}

function measure(name: string, message: string, parse: (text: string) => number): void {
  const buffer = Buffer.from(message, 'latin1');
  const text = buffer.toString('latin1');
  const check = (status: number): void => {
    if (status !== 0) throw new Error(`${name} was refused`);
  };
  const scan = cpuNs(() => check(findHeadEnd(buffer, 0, buffer.length) - buffer.length));
  const alone = cpuNs(() => check(parse(text)));
  const all = cpuNs(() => check(parse(buffer.toString('latin1', 0, findHeadEnd(buffer, 0, buffer.length)))));
  const size = `${message.length} bytes, ${message.split('\r\n').length - 3} fields`;
  console.log(`${name} (${size}): scan ${scan.toFixed(0)} ns, parse ${alone.toFixed(0)} ns, all ${all.toFixed(0)} ns`);
}

const head = new Head();
measure('small request', SMALL_REQUEST, (text) => parseRequestHead(text, head, DEFAULT_HEAD_LIMITS));
measure('browser request', BROWSER_REQUEST, (text) => parseRequestHead(text, head, DEFAULT_HEAD_LIMITS));
measure('response', RESPONSE, (text) => parseResponseHead(text, head, 'GET', DEFAULT_HEAD_LIMITS));
