import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isEventStream } from './event-stream.ts';

test('server-sent events are known by their type, in any spelling and with parameters', () => {
  for (const line of [
    'Content-Type: text/event-stream',
    'content-type:text/event-stream',
    'CONTENT-TYPE: \tTEXT/Event-Stream; charset=utf-8',
    'Content-Type: text/event-stream ',
  ]) {
    assert.equal(isEventStream(`Server: x\r\n${line}\r\nVia: y\r\n`), true, line);
  }
});

test('nothing else is', () => {
  for (const line of [
    'Content-Type: text/plain',
    'Content-Type: text/event-streams',
    'X-Content-Type: text/event-stream',
    'X: Content-Type: text/event-stream',
  ]) {
    assert.equal(isEventStream(`${line}\r\n`), false, line);
  }
});
