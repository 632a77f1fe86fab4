import assert from 'node:assert/strict';
import { Writable } from 'node:stream';
import { test } from 'node:test';
import { stripVTControlCharacters } from 'node:util';
import { AccessWriter, MAX_WAITING_BYTES } from './access-writer.ts';
import { readableLine } from './readable.ts';
import { createRootLogger } from './root-logger.ts';
import { systemClock } from '../../shared/clock.ts';
import { silentLogger, loggerTo } from '../../shared/log.ts';

function createTarget(isTTY: boolean): { lines: string[]; isTTY: boolean; write(text: string): void } {
  const lines: string[] = [];
  return { lines, isTTY, write: (text) => void lines.push(text) };
}

test('a log line is one JSON object with level, time, message and fields', () => {
  const target = createTarget(false);
  createRootLogger(target).warn('server is down', { upstream: 'app:80', error: new Error('refused') });
  assert.equal(target.lines.length, 1);
  const { ts, ...record } = JSON.parse(target.lines[0] ?? '');
  assert.deepEqual(record, { level: 'warn', msg: 'server is down', upstream: 'app:80', error: 'refused' });
  assert.equal(typeof ts, 'number');
});

test('debug lines are written only while debug is on', () => {
  const target = createTarget(false);
  const log = createRootLogger(target);
  log.debug('one');
  log.setLevel('debug');
  log.debug('two');
  log.setLevel('info');
  log.debug('three');
  assert.deepEqual(
    target.lines.map((line) => JSON.parse(line).msg),
    ['two'],
  );
});

test('a terminal gets readable text', () => {
  const target = createTarget(true);
  createRootLogger(target).info('serving', { port: 8080 });
  assert.match(stripVTControlCharacters(target.lines.join('')), /^\d\d:\d\d:\d\d INFO  serving port=8080\n$/);
});

test('the config may send the log elsewhere, in another form, and back', () => {
  const target = createTarget(true);
  const taken: string[] = [];
  const log = createRootLogger(target);
  log.setOutput({ format: null, write: (line) => taken.push(line) });
  log.info('one', { port: 1 });
  log.setOutput({ format: 'console', write: (line) => taken.push(line) });
  log.warn('two', { port: 2 });
  log.setOutput({ format: 'json', write: null });
  log.info('three');
  log.setOutput({ format: null, write: null });
  log.info('four');
  assert.equal(JSON.parse(taken[0]!).msg, 'one');
  assert.match(taken[1]!, /^\d{4}-\S+Z\tWARN\ttwo\t\{"port":2\}\n$/);
  assert.equal(JSON.parse(target.lines[0]!).msg, 'three');
  assert.match(stripVTControlCharacters(target.lines[1]!), /^\d\d:\d\d:\d\d INFO  four\n$/);
});

test('a log that goes the way of the lines it tells of ends', () => {
  const { stream } = createStream(MAX_WAITING_BYTES + 1);
  const streams = { stdout: stream, stderr: createStream().stream };
  const told: string[] = [];
  let writer: AccessWriter;
  const log = loggerTo((_level, message) => {
    told.push(message);
    writer.write('{}\n', 'stderr');
  });
  writer = new AccessWriter(streams, log, systemClock);
  assert.equal(writer.write('a\n', 'stdout'), false);
  assert.equal(writer.write('b\n', 'stderr'), true);
  assert.equal(told.length, 1);
});

test('a terminal is not shown again what the message says', () => {
  const line = readableLine(
    JSON.stringify({ level: 'warn', ts: 0, msg: 'app:8080 is down: refused', address: 'app:8080', from: 'up' }),
  );
  assert.match(stripVTControlCharacters(line), / app:8080 is down: refused from=up\n$/);
});

test('control characters of a peer do not reach the terminal', () => {
  const line = readableLine(JSON.stringify({ level: 'info', ts: 0, msg: 'a\u001b[2Jb', path: '/\u0007' }));
  assert.doesNotMatch(stripVTControlCharacters(line).replace(/\n$/, ''), /[\u0000-\u001f\u007f-\u009f]/);
});

function createStream(writableLength = 0): { stream: Writable; written: string[] } {
  const written: string[] = [];
  const stream = new Writable({
    write(chunk, _, done) {
      written.push(String(chunk));
      done();
    },
  });
  Object.defineProperty(stream, 'writableLength', { get: () => writableLength });
  return { stream, written };
}

test('access lines go where the config says', () => {
  const stderr = createStream();
  const stdout = createStream();
  const writer = new AccessWriter({ stderr: stderr.stream, stdout: stdout.stream }, silentLogger, systemClock);
  writer.write('a\n', 'stderr');
  writer.write('b\n', 'stdout');
  assert.deepEqual([stderr.written, stdout.written], [['a\n'], ['b\n']]);
});

test('access lines are dropped and counted when their reader is too slow', () => {
  const slow = createStream(MAX_WAITING_BYTES + 1);
  const quick = createStream();
  const told: unknown[] = [];
  const log = loggerTo((_, __, fields) => void told.push(fields));
  const writer = new AccessWriter({ stderr: slow.stream, stdout: quick.stream }, log, systemClock);
  writer.write('a\nb\n', 'stderr');
  writer.write('c\n', 'stderr');
  assert.deepEqual(slow.written, []);
  writer.write('d\n', 'stdout');
  assert.deepEqual(quick.written, ['d\n']);
  assert.deepEqual(told, [{ lines: 3 }]);
});
