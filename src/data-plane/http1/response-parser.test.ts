import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import * as errors from './errors.ts';
import { BODY_CHUNKED, BODY_CLOSE, BODY_LENGTH, BODY_NONE, FIELD_SET_COOKIE, Head } from './head.ts';
import { DEFAULT_HEAD_LIMITS } from './limits.ts';
import { parseResponseHead } from './response-parser.ts';

function parse(text: string, method = 'GET'): { head: Head; fault: number } {
  const head = new Head();
  return { head, fault: parseResponseHead(text, head, method, DEFAULT_HEAD_LIMITS) };
}

function response(line: string, lines: readonly string[] = [], method = 'GET'): { head: Head; fault: number } {
  return parse([line, ...lines, '', ''].join('\r\n'), method);
}

function refuses(result: { head: Head; fault: number }, fault: number): void {
  assert.equal(errors.faultName(result.fault), errors.faultName(fault));
  assert.equal(result.head.fault, result.fault);
}

describe('the status line', () => {
  for (const [line, status, reason] of [
    ['HTTP/1.1 200 OK', 200, 'OK'],
    ['HTTP/1.1 200', 200, ''],
    ['HTTP/1.1 200 ', 200, ''],
    ['HTTP/1.0 404 Not  Found', 404, 'Not  Found'],
    ['HTTP/1.1 999 caf\xe9', 999, 'caf\xe9'],
    ['HTTP/1.1 200  x', 200, ' x'],
  ] as const) {
    test(`${JSON.stringify(line)} is read`, () => {
      const { head, fault } = response(line, ['Content-Length: 0']);
      assert.deepEqual([fault, head.status, head.text.slice(head.reasonStart, head.reasonEnd)], [0, status, reason]);
      assert.equal(head.version, line.startsWith('HTTP/1.1') ? 11 : 10);
    });
  }

  for (const [line, fault] of [
    ['HTTP/1.1 20 OK', errors.ERROR_STATUS_LINE],
    ['HTTP/1.1 2000 OK', errors.ERROR_STATUS_LINE],
    ['HTTP/1.1 099 x', errors.ERROR_STATUS_LINE],
    ['HTTP/1.1  200 OK', errors.ERROR_STATUS_LINE],
    ['HTTP/1.1 2x0 OK', errors.ERROR_STATUS_LINE],
    ['HTTP/1.1\t200 OK', errors.ERROR_STATUS_LINE],
    ['HTTP/1.1 200 a\0b', errors.ERROR_STATUS_LINE],
    ['HTTP/1.1 200 a\rb', errors.ERROR_LINE_END],
    ['HTTP/1.1 200 a\nb', errors.ERROR_LINE_END],
    ['HTTP/2.0 200 OK', errors.ERROR_VERSION],
    ['ICY 200 OK', errors.ERROR_STATUS_LINE],
    ['http/1.1 200 OK', errors.ERROR_STATUS_LINE],
    ['', errors.ERROR_STATUS_LINE],
    ['\r\nHTTP/1.1 200 OK', errors.ERROR_STATUS_LINE],
    ['SSH-2.0-x', errors.ERROR_STATUS_LINE],
  ] as const) {
    test(`${JSON.stringify(line)} is refused`, () => refuses(response(line), fault));
  }
});

describe('response fields', () => {
  test('keep order, case, count and every byte above 0x7f', () => {
    const lines = [
      'Content-Disposition: attachment; filename="\xe4\xb8\xad.pdf"',
      'X: \xe9',
      'Set-Cookie: a=1',
      'VARY: x',
      'set-cookie: b=2',
      'SET-COOKIE: c=3',
      'Link: <a>',
      'Link: <b>',
      'X-Empty:',
    ];
    const { head, fault } = response('HTTP/1.1 200 OK', lines);
    assert.equal(fault, 0);
    assert.equal(head.text, `${['HTTP/1.1 200 OK', ...lines].join('\r\n')}\r\n`);
    assert.deepEqual([head.count, head.joined(FIELD_SET_COOKIE, '|')], [9, 'a=1|b=2|c=3']);
  });

  for (const [line, fault] of [
    ['Set-Cookie: a=\x01', errors.ERROR_FIELD_VALUE],
    ['X-A : 1', errors.ERROR_FIELD_NAME],
    ['X: a\r\n folded', errors.ERROR_OBS_FOLD],
    ['X: a\rb', errors.ERROR_LINE_END],
    ['X: a\0', errors.ERROR_FIELD_VALUE],
    ['X', errors.ERROR_LINE_END],
  ] as const) {
    test(`${JSON.stringify(line)} is refused`, () => refuses(response('HTTP/1.1 200 OK', [line]), fault));
  }

  test('are limited', () => {
    const head = new Head();
    const text = 'HTTP/1.1 200 OK\r\nA: 1\r\nB: 2\r\n\r\n';
    assert.equal(
      parseResponseHead(text, head, 'GET', { ...DEFAULT_HEAD_LIMITS, maxFields: 1 }),
      errors.ERROR_TOO_MANY_FIELDS,
    );
    assert.equal(
      parseResponseHead(text, head, 'GET', { ...DEFAULT_HEAD_LIMITS, maxBytes: 20 }),
      errors.ERROR_HEAD_TOO_LARGE,
    );
  });
});

describe('framing of responses', () => {
  test('is by length, by chunks, or by the close of the connection', () => {
    const read = (...lines: string[]): unknown[] => {
      const { head } = response('HTTP/1.1 200 OK', lines);
      return [head.body, head.contentLength, head.keepAlive];
    };
    assert.deepEqual(read('Content-Length: 5'), [BODY_LENGTH, 5, true]);
    assert.deepEqual(read('Content-Length: 0'), [BODY_LENGTH, 0, true]);
    assert.deepEqual(read('Content-Length: 5', 'Connection: close'), [BODY_LENGTH, 5, false]);
    assert.deepEqual(read('Transfer-Encoding: chunked'), [BODY_CHUNKED, -1, true]);
    assert.deepEqual(read(), [BODY_CLOSE, -1, false]);
    assert.deepEqual(read('Connection: keep-alive'), [BODY_CLOSE, -1, false]);
  });

  test('has no body for HEAD and 304, but the announced length is known', () => {
    for (const [status, method] of [
      ['200 OK', 'HEAD'],
      ['304 Not Modified', 'GET'],
    ] as const) {
      const read = (...lines: string[]): unknown[] => {
        const { head } = response(`HTTP/1.1 ${status}`, lines, method);
        return [head.body, head.contentLength, head.keepAlive];
      };
      assert.deepEqual(read('Content-Length: 5'), [BODY_NONE, 5, true]);
      assert.deepEqual(read('Transfer-Encoding: chunked'), [BODY_NONE, -1, true]);
      assert.deepEqual(read(), [BODY_NONE, -1, true]);
    }
  });

  test('has no body for 1xx and 204, and the connection ends when one is announced', () => {
    for (const status of ['100 Continue', '103 Early Hints', '199 x', '204 No Content']) {
      const read = (...lines: string[]): unknown[] => {
        const { head } = response(`HTTP/1.1 ${status}`, lines);
        return [head.body, head.contentLength, head.keepAlive];
      };
      assert.deepEqual(read('Link: <a>'), [BODY_NONE, -1, true]);
      assert.deepEqual(read('Content-Length: 0'), [BODY_NONE, -1, true]);
      assert.deepEqual(read('Content-Length: 5'), [BODY_NONE, -1, false]);
      assert.deepEqual(read('Transfer-Encoding: chunked'), [BODY_NONE, -1, false]);
    }
  });

  test('101 switches, other statuses with Upgrade only offer', () => {
    const lines = ['Connection: Upgrade', 'Upgrade: websocket'];
    const switched = response('HTTP/1.1 101 Switching Protocols', lines).head;
    assert.deepEqual([switched.upgrade, switched.body, switched.keepAlive], [true, BODY_NONE, false]);
    assert.equal(response('HTTP/1.1 426 Upgrade Required', [...lines, 'Content-Length: 0']).head.upgrade, false);
    assert.equal(response('HTTP/1.1 101 Switching Protocols').head.upgrade, false);
  });

  test('HTTP/1.0 persists when it says so and the end is known', () => {
    const read = (...lines: string[]): boolean => response('HTTP/1.0 200 OK', lines).head.keepAlive;
    assert.equal(read('Content-Length: 5'), false);
    assert.equal(read('Content-Length: 5', 'Connection: keep-alive'), true);
    assert.equal(read('Connection: keep-alive'), false);
  });

  for (const [lines, fault] of [
    [['Content-Length: 5', 'Transfer-Encoding: chunked'], errors.ERROR_LENGTH_AND_CODING],
    [['Content-Length: 5', 'Content-Length: 5'], errors.ERROR_CONTENT_LENGTH_REPEATED],
    [['Content-Length: 5, 5'], errors.ERROR_CONTENT_LENGTH],
    [['Content-Length: x'], errors.ERROR_CONTENT_LENGTH],
    [['Transfer-Encoding: gzip, chunked'], errors.ERROR_TRANSFER_CODING_UNSUPPORTED],
    [['Transfer-Encoding: identity'], errors.ERROR_TRANSFER_CODING],
    [['Transfer-Encoding: gzip'], errors.ERROR_TRANSFER_CODING],
  ] as const) {
    test(`${lines.join(' | ')} is refused, also for HEAD and 304`, () => {
      refuses(response('HTTP/1.1 200 OK', lines), fault);
      refuses(response('HTTP/1.1 200 OK', lines, 'HEAD'), fault);
      refuses(response('HTTP/1.1 304 Not Modified', lines), fault);
    });
  }

  test('an HTTP/1.0 response with Transfer-Encoding is refused', () => {
    refuses(response('HTTP/1.0 200 OK', ['Transfer-Encoding: chunked']), errors.ERROR_TRANSFER_CODING_VERSION);
  });
});

test('a reused head keeps nothing of the message before', () => {
  const head = new Head();
  const first = 'HTTP/1.1 101 X\r\nConnection: upgrade, x\r\nUpgrade: w\r\nSet-Cookie: a\r\nSet-Cookie: b\r\n\r\n';
  assert.equal(parseResponseHead(first, head, 'GET', DEFAULT_HEAD_LIMITS), 0);
  const second = 'HTTP/1.0 200\r\nContent-Length: 1\r\n\r\n';
  parseResponseHead(second, head, 'GET', DEFAULT_HEAD_LIMITS);
  const fresh = parse(second).head;
  const visible = (of: Head): unknown =>
    Object.assign({}, of, {
      offsets: of.offsets.slice(0, of.count * 4),
      kinds: of.kinds.slice(0, of.count),
    });
  assert.deepEqual(visible(head), visible(fresh));
});

test('no text makes the parser throw', () => {
  const part = fc.oneof(
    fc.constantFrom(
      'HTTP/1.1 200 OK\r\n',
      'HTTP/1.0 204\r\n',
      'Content-Length: 1\r\n',
      '\r\n',
      '\r',
      '\n',
      'Connection: close\r\n',
    ),
    fc.string({ unit: fc.integer({ min: 0, max: 300 }).map((code) => String.fromCharCode(code)), maxLength: 30 }),
  );
  const text = fc.array(part, { maxLength: 8 }).map((parts) => parts.join(''));
  fc.assert(
    fc.property(text, fc.constantFrom('GET', 'HEAD', 'POST'), (value, method) => {
      const { fault } = parse(value, method);
      assert.equal(fault === 0, errors.faultStatus(fault) === 0);
    }),
    { numRuns: 5000 },
  );
});
