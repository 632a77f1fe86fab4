/**
 * Nanoseconds per head: `node bench/micro/http1-head.ts`. `all` is what a connection pays: find the end, make the string,
 * parse it.
 */
import { Head } from '../../src/data-plane/http1/head.ts';
import { DEFAULT_HEAD_LIMITS } from '../../src/data-plane/http1/limits.ts';
import { parseRequestHead } from '../../src/data-plane/http1/request-parser.ts';
import { parseResponseHead } from '../../src/data-plane/http1/response-parser.ts';
import { findHeadEnd } from '../../src/data-plane/http1/scan.ts';
import { cpuNs } from './cpu.ts';
import { BROWSER_REQUEST, RESPONSE, SMALL_REQUEST } from './messages.ts';

const PARSES = 400_000;

function measure(name: string, message: string, parse: (text: string) => number): void {
  const buffer = Buffer.from(message, 'latin1');
  const text = buffer.toString('latin1');
  const check = (status: number): void => {
    if (status !== 0) throw new Error(`${name} was refused`);
  };
  const scan = cpuNs(PARSES, () => check(findHeadEnd(buffer, 0, buffer.length) - buffer.length));
  const alone = cpuNs(PARSES, () => check(parse(text)));
  const all = cpuNs(PARSES, () => check(parse(buffer.toString('latin1', 0, findHeadEnd(buffer, 0, buffer.length)))));
  const size = `${message.length} bytes, ${message.split('\r\n').length - 3} fields`;
  console.log(`${name} (${size}): scan ${scan.toFixed(0)} ns, parse ${alone.toFixed(0)} ns, all ${all.toFixed(0)} ns`);
}

const head = new Head();
measure('small request', SMALL_REQUEST, (text) => parseRequestHead(text, head, DEFAULT_HEAD_LIMITS));
measure('browser request', BROWSER_REQUEST, (text) => parseRequestHead(text, head, DEFAULT_HEAD_LIMITS));
measure('response', RESPONSE, (text) => parseResponseHead(text, head, 'GET', DEFAULT_HEAD_LIMITS));
