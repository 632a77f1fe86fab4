import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import { type BodySink, ChunkedDecoder, chunkHeader } from './chunked.ts';
import * as errors from './errors.ts';
import { MAX_CHUNK_EXTENSION_BYTES, MAX_TRAILER_BYTES } from './limits.ts';

class Collector implements BodySink {
  body = '';

  onBody(buffer: Buffer, start: number, end: number): void {
    assert.ok(start < end, 'an empty run is none');
    this.body += buffer.toString('latin1', start, end);
  }
}

interface Decoded {
  readonly body: string;
  readonly trailers: string;
  readonly done: boolean;
  readonly error: number;
  readonly fault: string;
  readonly rest: string;
}

/** Feeds the text in pieces that end at `cuts`; rest is what was not consumed. */
function decode(text: string, cuts: readonly number[] = []): Decoded {
  const decoder = new ChunkedDecoder();
  const sink = new Collector();
  const buffer = Buffer.from(text, 'latin1');
  let at = 0;
  for (const end of [...cuts, buffer.length]) {
    if (decoder.done || decoder.error !== 0) break;
    at = decoder.feed(buffer, at, end, sink);
    assert.ok(at === end || decoder.done || decoder.error !== 0);
  }
  const { trailers, done, error } = decoder;
  return { body: sink.body, trailers, done, error, fault: errors.faultName(decoder.fault), rest: text.slice(at) };
}

const EVERYTHING =
  '5;a=b;c="d\\"e"\r\nhello\r\n00d\r\n, chunk\r\n\r\n0\0\r\n1\r\n.\r\n0;last\r\nX-Sum: 1\r\nx-two:\t2 \r\n\r\nNEXT';

describe('a chunked body', () => {
  const whole = decode(EVERYTHING);

  test('is decoded up to its last byte', () => {
    assert.deepEqual(whole, {
      body: 'hello, chunk\r\n\r\n0\0.',
      trailers: 'X-Sum: 1\r\nx-two: 2\r\n',
      done: true,
      error: 0,
      fault: 'none',
      rest: 'NEXT',
    });
  });

  test('is the same split at every byte', () => {
    for (let cut = 0; cut <= EVERYTHING.length; cut += 1) assert.deepEqual(decode(EVERYTHING, [cut]), whole);
  });

  test('is the same byte by byte', () => {
    assert.deepEqual(
      decode(
        EVERYTHING,
        Array.from({ length: EVERYTHING.length }, (_, index) => index),
      ),
      whole,
    );
  });

  test('may be empty', () => {
    assert.deepEqual(decode('0\r\n\r\nx'), { body: '', trailers: '', done: true, error: 0, fault: 'none', rest: 'x' });
    assert.equal(decode('000\r\n\r\n').done, true);
  });

  test('can follow another in the same decoder', () => {
    const decoder = new ChunkedDecoder();
    const sink = new Collector();
    for (const text of ['2\r\nab\r\n0\r\nX: 1\r\n\r\n', 'z', '1\r\nc\r\n0\r\n\r\n']) {
      const buffer = Buffer.from(text);
      decoder.reset();
      assert.deepEqual([decoder.done, decoder.error, decoder.fault, decoder.trailers], [false, 0, 0, '']);
      decoder.feed(buffer, 0, buffer.length, sink);
    }
    assert.deepEqual([sink.body, decoder.done, decoder.trailers], ['abc', true, '']);
  });

  test('round-trips whatever is written with chunkHeader, in any pieces', () => {
    const chunks = fc.array(
      fc.string({
        minLength: 1,
        maxLength: 40,
        unit: fc.integer({ min: 0, max: 255 }).map((code) => String.fromCharCode(code)),
      }),
    );
    fc.assert(
      fc.property(chunks, fc.array(fc.nat(600)), (parts, cuts) => {
        const text = `${parts.map((part) => `${chunkHeader(part.length)}${part}\r\n`).join('')}0\r\n\r\n`;
        const ordered = cuts.filter((cut) => cut <= text.length).sort((left, right) => left - right);
        const { body, done } = decode(text, ordered);
        assert.deepEqual([body, done], [parts.join(''), true]);
      }),
    );
  });
});

describe('chunk sizes', () => {
  for (const size of [
    '0x2',
    '2junk',
    '-1',
    '+2',
    '',
    ' 2',
    '2 ',
    '2\t',
    'g',
    'ffffffffffffffff1',
    '20000000000000',
    'ffffffffffffffff',
    '00000000000000002',
    '2\n',
  ]) {
    test(`${JSON.stringify(size)} is refused`, () => {
      const { error, fault, body } = decode(`${size}\r\nhi\r\n0\r\n\r\n`);
      assert.deepEqual([error, fault, body], [400, 'chunk_size', '']);
    });
  }

  test('up to 2^53 − 1 are taken, in any case', () => {
    assert.equal(decode('1fffffffffffff\r\nx').error, 0);
    assert.equal(decode('1FffFFffFFffFF\r\nx').body, 'x');
    assert.equal(decode('0000000000000002\r\nhi\r\n0\r\n\r\n').done, true);
  });

  test('must fit the data', () => {
    assert.deepEqual([decode('2\r\nhi!\r\n').error, decode('2\r\nhi!\r\n').fault], [400, 'chunk_end']);
    assert.equal(decode('2\r\nhi\n').fault, 'chunk_end');
    assert.equal(decode('2\r\nhi\rx').fault, 'chunk_end');
    assert.equal(decode('3\r\nhi\r\n0\r\n\r\n').fault, 'chunk_end');
  });
});

describe('chunk extensions', () => {
  for (const extension of [';a', ';a=b', ';a="b"', ';a="b;\\"\xe9 \t"', ';a=b;c;d="e"', ';!#$=~|']) {
    test(`${JSON.stringify(extension)} is dropped`, () => {
      assert.deepEqual([decode(`2${extension}\r\nhi\r\n0${extension}\r\n\r\n`).body], ['hi']);
      assert.equal(decode(`2${extension}\r\nhi\r\n0${extension}\r\n\r\n`).done, true);
    });
  }

  for (const extension of [
    ';',
    ';;a',
    ';a;',
    ';=b',
    ';a=',
    ';a=b"c"',
    ';a="b"c',
    ';a\n',
    ';a="b\r\n',
    '; a',
    ';a =b',
    ';a= b',
    ';\xe9',
    ';a\0',
    ';a="\x7f"',
    ';a="\0"',
    ';a="\\\0"',
  ]) {
    test(`${JSON.stringify(extension)} is refused`, () => {
      const { error, fault, body } = decode(`2${extension}\r\nhi\r\n0\r\n\r\n`);
      assert.deepEqual([error, fault, body], [400, 'chunk_extension', '']);
    });
  }

  test('are limited over the whole message, not per chunk', () => {
    const chunk = `1;${'a'.repeat(1000)}\r\n.\r\n`;
    assert.equal(decode(chunk.repeat(4)).error, 0);
    const { error, fault } = decode(chunk.repeat(Math.ceil(MAX_CHUNK_EXTENSION_BYTES / 1000)));
    assert.deepEqual([error, fault], [413, 'chunk_extension_too_large']);
  });
});

describe('the trailer section', () => {
  const trailers = (lines: string): Decoded => decode(`0\r\n${lines}\r\n`);

  test('gives every field that may stand there', () => {
    assert.equal(
      trailers('grpc-status: 0\r\nX-Empty:\r\nX: caf\xe9\r\n').trailers,
      'grpc-status: 0\r\nX-Empty: \r\nX: caf\xe9\r\n',
    );
  });

  test('loses fields that frame, route, authenticate or set cookies', () => {
    const names = [
      'Content-Length',
      'TRANSFER-ENCODING',
      'Host',
      'Set-Cookie',
      'Connection',
      'Authorization',
      'Trailer',
      'X-Forwarded-For',
      'Content-Type',
      'Cache-Control',
    ];
    const { trailers: kept, done } = trailers(`${names.map((name) => `${name}: 1\r\n`).join('')}X-Sum: 2\r\n`);
    assert.deepEqual([kept, done], ['X-Sum: 2\r\n', true]);
  });

  for (const lines of [
    ' folded\r\n',
    'X: 1\r\n folded\r\n',
    'X : 1\r\n',
    'X: a\0\r\n',
    'X\r\n',
    ': 1\r\n',
    'X: 1\n',
    'X: a\rb\r\n',
    'XX\r\n',
    '\n',
    '\rX',
  ]) {
    test(`${JSON.stringify(lines)} is refused`, () => {
      assert.deepEqual([trailers(lines).error, trailers(lines).fault, trailers(lines).done], [400, 'trailer', false]);
    });
  }

  test('is refused at its first bad line, without waiting for its end', () => {
    assert.equal(decode('0\r\nXXGET / HTTP/1.1\r\n').fault, 'trailer');
    assert.equal(decode('0\r\nX: 1\r\nGET / HTTP/1.1\r\n').fault, 'trailer');
  });

  test('is limited in bytes and lines', () => {
    assert.equal(trailers(`X: ${'a'.repeat(MAX_TRAILER_BYTES - 3)}\r\n`).done, true);
    for (const lines of [`X: ${'a'.repeat(MAX_TRAILER_BYTES - 2)}\r\n`, 'X: 1\r\n'.repeat(65)]) {
      const { error, fault, done } = trailers(lines);
      assert.deepEqual([error, fault, done], [431, 'trailer_too_large', false]);
    }
  });
});

test('no bytes make the decoder throw, and the answer does not depend on how they are split', () => {
  const part = fc.oneof(
    fc.constantFrom('2\r\nhi\r\n', '0\r\n', '\r\n', '\r', '\n', '1', ';a', ';a="', '"', 'X: 1\r\n', '5\r\n'),
    fc.string({ maxLength: 6, unit: fc.integer({ min: 0, max: 255 }).map((code) => String.fromCharCode(code)) }),
  );
  const text = fc.array(part, { maxLength: 10 }).map((parts) => parts.join(''));
  fc.assert(
    fc.property(text, fc.array(fc.nat(60), { maxLength: 5 }), (value, cuts) => {
      const ordered = cuts.filter((cut) => cut <= value.length).sort((left, right) => left - right);
      assert.deepEqual(decode(value, ordered), decode(value));
    }),
    { numRuns: 5000 },
  );
});
