import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import * as errors from './errors.ts';
import { BODY_CHUNKED, BODY_LENGTH, BODY_NONE, FIELD_COOKIE, Head } from './head.ts';
import { DEFAULT_HEAD_LIMITS, type HeadLimits } from './limits.ts';
import { parseRequestHead } from './request-parser.ts';

function parse(text: string, limits: HeadLimits = DEFAULT_HEAD_LIMITS): { head: Head; status: number } {
  const head = new Head();
  return { head, status: parseRequestHead(text, head, limits) };
}

/** A request with these lines besides Host. */
function withLines(...lines: string[]): { head: Head; status: number } {
  return parse(['POST /a HTTP/1.1', 'Host: a.test', ...lines, '', ''].join('\r\n'));
}

function withTarget(target: string, method = 'GET'): { head: Head; status: number } {
  return parse(`${method} ${target} HTTP/1.1\r\nHost: a.test\r\n\r\n`);
}

function withHost(line: string): { head: Head; status: number } {
  return parse(`GET / HTTP/1.1\r\n${line}\r\n\r\n`);
}

function refuses(result: { head: Head; status: number }, status: number, fault: number): void {
  assert.deepEqual([result.status, errors.faultName(result.head.fault)], [status, errors.faultName(fault)]);
}

describe('a well-formed request', () => {
  test('is read into line, fields and framing', () => {
    const { head, status } = parse(
      'GET /a?b HTTP/1.1\r\nHost: a.test:80\r\nX-A: \t b c \t\r\nx-empty:\r\nCookie: k=v\r\n\r\n',
    );
    assert.equal(status, 0);
    assert.deepEqual([head.method, head.target, head.originForm, head.authority], ['GET', '/a?b', '/a?b', 'a.test:80']);
    assert.deepEqual([head.version, head.body, head.contentLength, head.keepAlive], [11, BODY_NONE, -1, true]);
    assert.deepEqual(
      [head.count, head.find('x-a'), head.find('x-empty'), head.known(FIELD_COOKIE)],
      [4, 'b c', '', 'k=v'],
    );
    assert.ok(head.text.endsWith('Cookie: k=v\r\n'));
    assert.equal(head.text.slice(head.fieldsStart, head.fieldsStart + 5), 'Host:');
  });

  test('leaves nothing of the request before it in a reused head', () => {
    const head = new Head();
    const first =
      'POST http://b/ HTTP/1.1\r\nHost: a\r\nConnection: x, upgrade\r\nUpgrade: w\r\nTE: trailers\r\n' +
      'Expect: 100-continue\r\nContent-Length: 3\r\nCookie: a\r\nCookie: b\r\n\r\n';
    assert.equal(parseRequestHead(first, head, DEFAULT_HEAD_LIMITS), 0);
    assert.ok(head.upgrade && head.expectContinue && head.acceptsTrailers);
    assert.equal(parseRequestHead('GET / HTTP/1.0\r\n\r\n', head, DEFAULT_HEAD_LIMITS), 0);
    const fresh = new Head();
    parseRequestHead('GET / HTTP/1.0\r\n\r\n', fresh, DEFAULT_HEAD_LIMITS);
    const visible = (of: Head): unknown => Object.assign({}, of, { offsets: 0, kinds: 0 });
    assert.deepEqual(visible(head), visible(fresh));
  });

  test('keeps bytes above 0x7f of values as they are', () => {
    const { head, status } = withLines('X: \xe4\xb8\xad.pdf', 'Y: caf\xe9');
    assert.equal(status, 0);
    assert.deepEqual([head.find('x'), head.find('y')], ['\xe4\xb8\xad.pdf', 'caf\xe9']);
  });
});

describe('the request target', () => {
  const asIs = [
    '/a%2Fb',
    '//a///b//',
    '/a/../b',
    '/%2e%2e/x',
    '/a;p=1',
    '/a?',
    '/a?b?c',
    '/a?x=%zz',
    '/a%00b',
    '/A%c3%a9',
    '/%C3%A9',
    '/a+b%20c',
    '/a|b^c',
    '/?q=[]{}',
    '/"<>\\`',
    `/?q=${'x'.repeat(8192)}`,
  ];
  for (const target of asIs) {
    test(`${target.slice(0, 20)} is kept byte for byte`, () => {
      const { head, status } = withTarget(target);
      assert.deepEqual([status, head.target, head.originForm, head.authority], [0, target, target, 'a.test']);
    });
  }

  for (const target of ['/caf\xc3\xa9', '/a\x7f', '/#f', '/a\0', '/a\tb', '/a b', '/a\x0b']) {
    test(`${JSON.stringify(target)} is refused`, () => refuses(withTarget(target), 400, withTarget(target).head.fault));
  }

  test('in absolute form gives path, query and the authority that replaces Host', () => {
    for (const [target, authority, originForm] of [
      ['http://b.test/x?y', 'b.test', '/x?y'],
      ['HTTPS://b.test:8443', 'b.test:8443', '/'],
      ['http://b?q', 'b', '/?q'],
      ['http://[::1]:80//x', '[::1]:80', '//x'],
      ['http://b/?u=http://c/', 'b', '/?u=http://c/'],
    ] as const) {
      const { head, status } = withTarget(target);
      assert.deepEqual([status, head.target, head.authority, head.originForm], [0, target, authority, originForm]);
    }
  });

  test('is * for OPTIONS only, also when only the authority is named', () => {
    assert.equal(withTarget('*', 'OPTIONS').head.originForm, '*');
    assert.equal(withTarget('http://b', 'OPTIONS').head.originForm, '*');
    assert.equal(withTarget('http://b/', 'OPTIONS').head.originForm, '/');
    refuses(withTarget('*'), 400, errors.ERROR_TARGET);
    refuses(withTarget('*a', 'OPTIONS'), 400, errors.ERROR_TARGET);
  });

  for (const target of [
    'a.test:443',
    'a',
    'ftp://b/',
    'http:/b',
    'http:b',
    'http://',
    'http:///x',
    'http://u@b/',
    'http://u:p@b/',
    'http://b:x/',
    'http://b:99999/',
    'http://[::1/',
    'http://b%zz/',
    '?q',
    'http',
    'javascript:x',
  ]) {
    test(`${target} is no target`, () => refuses(withTarget(target), 400, errors.ERROR_TARGET));
  }
});

describe('the request line', () => {
  const end = '\r\nHost: a\r\n\r\n';
  for (const [line, status, fault] of [
    ['GET  / HTTP/1.1', 400, errors.ERROR_REQUEST_LINE],
    ['GET /  HTTP/1.1', 400, errors.ERROR_REQUEST_LINE],
    ['GET / HTTP/1.1 ', 400, errors.ERROR_REQUEST_LINE],
    [' GET / HTTP/1.1', 400, errors.ERROR_METHOD],
    ['GET /', 400, errors.ERROR_REQUEST_LINE],
    ['GET', 400, errors.ERROR_METHOD],
    ['', 400, errors.ERROR_METHOD],
    ['G(T / HTTP/1.1', 400, errors.ERROR_METHOD],
    ['GET\t/ HTTP/1.1', 400, errors.ERROR_METHOD],
    ['GET / http/1.1', 400, errors.ERROR_REQUEST_LINE],
    ['GET / HTTP/11', 400, errors.ERROR_REQUEST_LINE],
    ['GET / HTTP/1.1x', 400, errors.ERROR_REQUEST_LINE],
    ['GET / HTTP/1.10', 400, errors.ERROR_REQUEST_LINE],
    ['GET / HTTP/2.0', 505, errors.ERROR_VERSION],
    ['GET / HTTP/0.9', 505, errors.ERROR_VERSION],
    ['GET / HTTP/1.2', 505, errors.ERROR_VERSION],
    ['PRI * HTTP/2.0', 505, errors.ERROR_VERSION],
    ['CONNECT a.test:443 HTTP/1.1', 501, errors.ERROR_METHOD_UNSUPPORTED],
    [`${'M'.repeat(33)} / HTTP/1.1`, 501, errors.ERROR_METHOD_UNSUPPORTED],
    ['GET / HTTP/1.1\n', 400, errors.ERROR_LINE_END],
    ['GET / HTTP/1.1\r', 400, errors.ERROR_LINE_END],
  ] as const) {
    test(`${JSON.stringify(line)} is refused with ${status}`, () => refuses(parse(line + end), status, fault));
  }

  test('takes any token as method', () => {
    for (const method of ['BREW', 'm-search', 'M'.repeat(32), "!#$%&'*+-.^_`|~9"]) {
      assert.equal(withTarget('/', method).head.method, method);
      assert.equal(withTarget('/', method).status, 0);
    }
  });

  test('may not be longer than its limit', () => {
    const limits = { ...DEFAULT_HEAD_LIMITS, maxRequestLine: 'GET /abc HTTP/1.1'.length };
    assert.equal(parse(`GET /abc HTTP/1.1${end}`, limits).status, 0);
    refuses(parse(`GET /abcd HTTP/1.1${end}`, limits), 414, errors.ERROR_REQUEST_LINE_TOO_LONG);
  });
});

describe('field lines', () => {
  for (const [line, fault] of [
    ['X-A : 1', errors.ERROR_FIELD_NAME],
    [': 1', errors.ERROR_FIELD_NAME],
    ['X(: 1', errors.ERROR_FIELD_NAME],
    ['X\xe9: 1', errors.ERROR_FIELD_NAME],
    ['X\0: 1', errors.ERROR_FIELD_NAME],
    ['X A: 1', errors.ERROR_FIELD_NAME],
    ['nothing', errors.ERROR_LINE_END],
    [' folded', errors.ERROR_OBS_FOLD],
    ['\tfolded', errors.ERROR_OBS_FOLD],
    ['X: a\r\n b', errors.ERROR_OBS_FOLD],
    ['X: a\rb', errors.ERROR_LINE_END],
    ['X: a\nY: b', errors.ERROR_LINE_END],
    ['X: a\0', errors.ERROR_FIELD_VALUE],
    ['X: a\x01', errors.ERROR_FIELD_VALUE],
    ['X: a\x7f', errors.ERROR_FIELD_VALUE],
    ['X: a\x0b', errors.ERROR_FIELD_VALUE],
  ] as const) {
    test(`${JSON.stringify(line)} is refused`, () => refuses(withLines('Accept: */*', line), 400, fault));
  }

  test('white space before the first one is refused', () => {
    refuses(parse('GET / HTTP/1.1\r\n Host: a\r\n\r\n'), 400, errors.ERROR_FIELD_NAME);
  });

  test('are limited in number and bytes', () => {
    const text = 'GET / HTTP/1.1\r\nHost: a\r\nX: 1\r\n\r\n';
    assert.equal(parse(text, { ...DEFAULT_HEAD_LIMITS, maxFields: 2, maxBytes: text.length }).status, 0);
    refuses(parse(text, { ...DEFAULT_HEAD_LIMITS, maxFields: 1 }), 431, errors.ERROR_TOO_MANY_FIELDS);
    refuses(parse(text, { ...DEFAULT_HEAD_LIMITS, maxBytes: text.length - 1 }), 431, errors.ERROR_HEAD_TOO_LARGE);
  });
});

describe('Host', () => {
  for (const line of [
    'Host: a.test',
    'host:a.test:8080',
    'HOST: \t[2001:db8::1]:80\t',
    'Host: a_b-c.~',
    'Host: a%41',
    'Host: a:',
    'Host: 10.0.0.1',
  ]) {
    test(`${JSON.stringify(line)} is taken`, () => {
      assert.equal(withHost(line).status, 0);
      assert.equal(withHost(line).head.authority, line.slice(5).trim());
    });
  }

  for (const line of [
    'Host: u@a',
    'Host: a b',
    'Host: a/b',
    'Host: a?b',
    'Host: a\\b',
    'Host: :80',
    'Host: a:80:80',
    'Host: a:8x',
    'Host: a:65536',
    'Host: a:000080',
    'Host: [::1',
    'Host: []',
    'Host: [::1]x',
    'Host: [fe80::1%25eth0]',
    'Host: a%4',
    'Host: caf\xe9',
    'Host: a"',
    'Host: http://a',
  ]) {
    test(`${JSON.stringify(line)} is refused`, () => refuses(withHost(line), 400, errors.ERROR_HOST));
  }

  test('must be there once in HTTP/1.1, also beside an absolute-form target', () => {
    refuses(withHost('X: 1'), 400, errors.ERROR_HOST_MISSING);
    refuses(withHost('Host: a\r\nHost: a'), 400, errors.ERROR_HOST_REPEATED);
    refuses(withHost('Host: a\r\nX: 1\r\nhost: b'), 400, errors.ERROR_HOST_REPEATED);
    refuses(parse('GET http://b/ HTTP/1.1\r\n\r\n'), 400, errors.ERROR_HOST_MISSING);
    refuses(parse('GET http://b/ HTTP/1.1\r\nHost: u@b\r\n\r\n'), 400, errors.ERROR_HOST);
  });

  test('may be empty, and absent in HTTP/1.0', () => {
    assert.deepEqual([withHost('Host:').status, withHost('Host:').head.authority], [0, '']);
    const { head, status } = parse('GET / HTTP/1.0\r\n\r\n');
    assert.deepEqual([status, head.authority, head.version, head.count], [0, '', 10, 0]);
  });
});

describe('framing of requests', () => {
  const { ERROR_CONTENT_LENGTH, ERROR_TRANSFER_CODING } = errors;
  for (const [lines, status, fault] of [
    [['Content-Length: 4', 'Transfer-Encoding: chunked'], 400, errors.ERROR_LENGTH_AND_CODING],
    [['Transfer-Encoding: chunked', 'Content-Length: 4'], 400, errors.ERROR_LENGTH_AND_CODING],
    [['Transfer-Encoding: chunked\t', 'Content-Length: 4'], 400, errors.ERROR_LENGTH_AND_CODING],
    [['Transfer-Encoding: chunked\t'], 400, errors.ERROR_FRAMING_TAB],
    [['Transfer-Encoding:\tchunked'], 400, errors.ERROR_FRAMING_TAB],
    [['Transfer-Encoding: xchunked'], 400, ERROR_TRANSFER_CODING],
    [['Transfer-Encoding: chunked, identity'], 400, ERROR_TRANSFER_CODING],
    [['Transfer-Encoding: chunked, chunked'], 400, ERROR_TRANSFER_CODING],
    [['Transfer-Encoding: ,chunked'], 400, ERROR_TRANSFER_CODING],
    [['Transfer-Encoding: chunked,'], 400, ERROR_TRANSFER_CODING],
    [['Transfer-Encoding: identity'], 400, ERROR_TRANSFER_CODING],
    [['Transfer-Encoding: gzip'], 400, ERROR_TRANSFER_CODING],
    [['Transfer-Encoding:'], 400, ERROR_TRANSFER_CODING],
    [['Transfer-Encoding: "chunked"'], 400, ERROR_TRANSFER_CODING],
    [['Transfer-Encoding: chunked;q=1'], 400, ERROR_TRANSFER_CODING],
    [['Transfer-Encoding: chunked', 'Transfer-Encoding: chunked'], 400, ERROR_TRANSFER_CODING],
    [['Transfer-Encoding: gzip, chunked'], 501, errors.ERROR_TRANSFER_CODING_UNSUPPORTED],
    [['Transfer-Encoding : chunked'], 400, errors.ERROR_FIELD_NAME],
    [['Content-Length : 4'], 400, errors.ERROR_FIELD_NAME],
    [['Content-Length: 4', 'Content-Length: 4'], 400, errors.ERROR_CONTENT_LENGTH_REPEATED],
    [['Content-Length: 4', 'content-length: 5'], 400, errors.ERROR_CONTENT_LENGTH_REPEATED],
    [['Content-Length: +2'], 400, ERROR_CONTENT_LENGTH],
    [['Content-Length: -2'], 400, ERROR_CONTENT_LENGTH],
    [['Content-Length: 2, 2'], 400, ERROR_CONTENT_LENGTH],
    [['Content-Length: 0x2'], 400, ERROR_CONTENT_LENGTH],
    [['Content-Length: 2 2'], 400, ERROR_CONTENT_LENGTH],
    [['Content-Length: 1e1'], 400, ERROR_CONTENT_LENGTH],
    [['Content-Length:'], 400, ERROR_CONTENT_LENGTH],
    [['Content-Length: 1000000000000000'], 400, ERROR_CONTENT_LENGTH],
    [['Content-Length: 4\t'], 400, errors.ERROR_FRAMING_TAB],
    [['Transfer-Encoding:', ' chunked'], 400, errors.ERROR_OBS_FOLD],
  ] as const) {
    test(`${JSON.stringify(lines.join(' | '))} is refused with ${status}`, () =>
      refuses(withLines(...lines), status, fault));
  }

  test('HTTP/1.0 with Transfer-Encoding is refused even with keep-alive', () => {
    const text = 'POST / HTTP/1.0\r\nConnection: keep-alive\r\nTransfer-Encoding: chunked\r\n\r\n';
    refuses(parse(text), 400, errors.ERROR_TRANSFER_CODING_VERSION);
  });

  test('a body is chunked, of a length, or absent, whatever the method', () => {
    for (const method of ['GET', 'DELETE', 'OPTIONS', 'POST']) {
      const read = (line: string): number[] => {
        const { head } = parse(`${method} / HTTP/1.1\r\nHost: a\r\n${line}\r\n`);
        return [head.body, head.contentLength];
      };
      assert.deepEqual(read('transfer-encoding: CHUNKED \r\n'), [BODY_CHUNKED, -1]);
      assert.deepEqual(read('CONTENT-LENGTH: 0042 \r\n'), [BODY_LENGTH, 42]);
      assert.deepEqual(read('Content-Length: 999999999999999\r\n'), [BODY_LENGTH, 999_999_999_999_999]);
      assert.deepEqual(read('Content-Length: 0\r\n'), [BODY_LENGTH, 0]);
      assert.deepEqual(read(''), [BODY_NONE, -1]);
    }
  });
});

describe('persistence and upgrade', () => {
  const read = (version: string, ...lines: string[]): [boolean, boolean] => {
    const { head, status } = parse([`GET / HTTP/${version}`, 'Host: a', ...lines, '', ''].join('\r\n'));
    assert.equal(status, 0);
    return [head.keepAlive, head.upgrade];
  };

  test('HTTP/1.1 goes on unless somebody says close', () => {
    assert.deepEqual(read('1.1'), [true, false]);
    assert.deepEqual(read('1.1', 'Connection: CLOSE'), [false, false]);
    assert.deepEqual(read('1.1', 'Connection: keep-alive', 'Connection: x,  close ,'), [false, false]);
    assert.deepEqual(read('1.1', 'Connection: closer, close;x, "close"'), [true, false]);
    assert.deepEqual(read('1.1', 'Proxy-Connection: close'), [false, false]);
  });

  test('HTTP/1.0 ends unless it asks for keep-alive alone', () => {
    assert.deepEqual(read('1.0'), [false, false]);
    assert.deepEqual(read('1.0', 'Connection: Keep-Alive'), [true, false]);
    assert.deepEqual(read('1.0', 'Connection: keep-alive, close'), [false, false]);
    assert.deepEqual(read('1.0', 'Proxy-Connection: keep-alive'), [false, false]);
  });

  test('an upgrade needs HTTP/1.1, the Connection option and a protocol', () => {
    assert.deepEqual(read('1.1', 'Connection: keep-alive, Upgrade', 'Upgrade: websocket'), [true, true]);
    assert.deepEqual(read('1.1', 'Upgrade: websocket'), [true, false]);
    assert.deepEqual(read('1.1', 'Connection: upgrade'), [true, false]);
    assert.deepEqual(read('1.1', 'Connection: upgrade', 'Upgrade:'), [true, false]);
    assert.deepEqual(read('1.0', 'Connection: keep-alive, upgrade', 'Upgrade: websocket'), [false, false]);
    assert.deepEqual(read('1.1', 'Proxy-Connection: upgrade', 'Upgrade: websocket'), [false, false]);
  });

  test('a tab among the options is refused', () => {
    refuses(withLines('Connection: close\t, x'), 400, errors.ERROR_FRAMING_TAB);
    refuses(withLines('Connection: x', 'Connection:\tclose'), 400, errors.ERROR_FRAMING_TAB);
  });

  test('names further fields to drop, in lower case, but none that frame, route or identify', () => {
    const { head } = withLines(
      'Connection: keep-alive, X-One, Host, Content-Length',
      'connection: TE, cookie, x-two, Via',
    );
    assert.deepEqual(head.connectionNames, ['x-one', 'x-two']);
  });

  test('names at most 32 fields', () => {
    const names = Array.from({ length: 33 }, (_, index) => `x-${index}`);
    assert.equal(withLines(`Connection: ${names.slice(1).join(',')}`).head.connectionNames.length, 32);
    refuses(withLines(`Connection: ${names.join(',')}`), 400, errors.ERROR_CONNECTION_NAMES);
  });
});

describe('Expect and TE', () => {
  test('100-continue counts where a body follows', () => {
    assert.equal(withLines('Expect: 100-Continue', 'Content-Length: 3').head.expectContinue, true);
    assert.equal(withLines('Expect: 100-continue', 'Transfer-Encoding: chunked').head.expectContinue, true);
    assert.equal(withLines('Expect: 100-continue').head.expectContinue, false);
    assert.equal(withLines('Expect:', 'Content-Length: 3').head.expectContinue, false);
  });

  test('anything else is 417, and nothing to HTTP/1.0', () => {
    for (const line of [
      'Expect: something-else',
      'Expect: 100-continue, x',
      'Expect: 100-continue\r\nExpect: x',
      'Expect: 100-continue;a',
    ]) {
      refuses(withLines(line, 'Content-Length: 3'), 417, errors.ERROR_EXPECTATION);
    }
    const { head, status } = parse('POST / HTTP/1.0\r\nExpect: 100-continue\r\nContent-Length: 3\r\n\r\n');
    assert.deepEqual([status, head.expectContinue], [0, false]);
  });

  test('TE is read for trailers only', () => {
    assert.equal(withLines('TE: gzip;q=0.5 ,\tTrailers').head.acceptsTrailers, true);
    assert.equal(withLines('TE: gzip').head.acceptsTrailers, false);
  });
});

test('no text makes the parser throw, and every refusal has a known status and reason', () => {
  const statuses = new Set([0, 400, 414, 417, 431, 501, 505]);
  const line = fc.constantFrom(
    'GET / HTTP/1.1\r\n',
    'POST * HTTP/1.0\r\n',
    'Host: a\r\n',
    'Content-Length: 1\r\n',
    'Connection: a,b,close\r\n',
    'Transfer-Encoding: gzip, chunked\r\n',
    '\r\n',
    '\r',
    '\n',
    ':',
    ' ',
  );
  const anything = fc.string({
    unit: fc.integer({ min: 0, max: 300 }).map((code) => String.fromCharCode(code)),
    maxLength: 30,
  });
  const text = fc.array(fc.oneof(line, anything), { maxLength: 8 }).map((parts) => parts.join(''));
  const head = new Head();
  fc.assert(
    fc.property(text, (value) => {
      const status = parseRequestHead(value, head, DEFAULT_HEAD_LIMITS);
      assert.ok(statuses.has(status));
      assert.equal(errors.faultStatus(head.fault), status);
      assert.equal(head.fault === 0, errors.faultName(head.fault) === 'none');
    }),
    { numRuns: 5000 },
  );
});
