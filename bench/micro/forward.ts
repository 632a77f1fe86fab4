/**
 * Nanoseconds of an exchange's texts, without sockets: `node bench/micro/forward.ts`. Request head read and
 * written anew with forwarding fields, response head read and written anew, both made into bytes.
 */
import { Head } from '../../src/data-plane/http1/head.ts';
import { DEFAULT_HEAD_LIMITS } from '../../src/data-plane/http1/limits.ts';
import { parseRequestHead } from '../../src/data-plane/http1/request-parser.ts';
import { parseResponseHead } from '../../src/data-plane/http1/response-parser.ts';
import { findHeadEnd } from '../../src/data-plane/http1/scan.ts';
import { requestLines } from '../../src/data-plane/proxy/request-lines.ts';
import { responseLines } from '../../src/data-plane/proxy/response-lines.ts';
import type { RequestView } from '../../src/data-plane/route/request-view.ts';
import { requestOf } from '../../test/support/route-fixtures.ts';
import { cpuNs } from './cpu.ts';
import { BROWSER_REQUEST, RESPONSE, SMALL_REQUEST } from './messages.ts';

const CALLS = 200_000;

function headText(bytes: Buffer): string {
  return bytes.toString('latin1', 0, findHeadEnd(bytes, 0, bytes.length));
}

function measure(name: string, request: string): void {
  const requestBytes = Buffer.from(request, 'latin1');
  const responseBytes = Buffer.from(RESPONSE, 'latin1');
  const requestHead = new Head();
  const responseHead = new Head();
  const host = /^Host: (.*)$/m.exec(request)?.[1] ?? '';
  const view: RequestView = { ...requestOf({ host }), head: requestHead };
  const out = Buffer.alloc(8_192);
  const up = cpuNs(CALLS, () => {
    if (parseRequestHead(headText(requestBytes), requestHead, DEFAULT_HEAD_LIMITS) !== 0) throw new Error('refused');
    const lines = requestLines(view, false, 'backend', [], '');
    out.write(`${requestHead.method} ${requestHead.originForm} HTTP/1.1\r\n${lines}\r\n`, 'latin1');
  });
  const down = cpuNs(CALLS, () => {
    if (parseResponseHead(headText(responseBytes), responseHead, 'GET', DEFAULT_HEAD_LIMITS) !== 0) {
      throw new Error('refused');
    }
    out.write(`HTTP/1.1 200 OK\r\n${responseLines(view, responseHead, null, null, '')}\r\n`, 'latin1');
  });
  console.log(`${name}: request ${up.toFixed(0)} ns, response ${down.toFixed(0)} ns`);
}

measure('small request', SMALL_REQUEST);
measure('browser request', BROWSER_REQUEST);
