import assert from 'node:assert/strict';
import { test } from 'node:test';
import { compileJson, configOf } from '../../../test/support/config-fixtures.ts';
import type { Json } from '../../../test/support/config-fixtures.ts';
import type { CompiledConfig } from './compiled.ts';

function compile(logs: Json | null, loggers: Json = {}): CompiledConfig {
  return compileJson(configOf([], logs === null ? {} : { logs }, { logging: { logs: loggers } })).compiled;
}

test('a server without logs writes no access lines', () => {
  assert.equal(compile(null).servers[0]?.options.accessLog, null);
});

function plan(logs: Json, loggers: Json = {}): unknown {
  return compile(logs, loggers).servers[0]?.options.accessLog;
}

const stdout = { writer: { output: 'stdout' }, include: ['http.log.access.log0'] };

test('hosts that are logged and hosts that are skipped', () => {
  assert.deepEqual(plan({}), { hosts: {}, others: ['stderr'] });
  assert.deepEqual(plan({ skip_hosts: ['A.test:8080'] }), { hosts: { 'a.test': [] }, others: ['stderr'] });
  assert.deepEqual(plan({ logger_names: { 'B.test': [''] }, skip_unmapped_hosts: true }), {
    hosts: { 'b.test': ['stderr'] },
    others: [],
  });
});

test('access lines go where the logger of their host says, by default to stderr', () => {
  assert.deepEqual(plan({ default_logger_name: 'log0' }, { log0: stdout }), { hosts: {}, others: ['stdout'] });
  assert.deepEqual(plan({ logger_names: { 'a.test': ['log0'] } }, { log0: stdout }), {
    hosts: { 'a.test': ['stdout'] },
    others: ['stderr'],
  });
  assert.deepEqual(plan({ logger_names: { 'a.test': ['log0', ''] } }, { log0: stdout }), {
    hosts: { 'a.test': ['stdout', 'stderr'] },
    others: ['stderr'],
  });
});

test('what would drop lines or send them elsewhere is refused, not ignored', () => {
  const toStdout = { writer: { output: 'stdout' } };
  const site = { include: ['http.log.access.log0'] };
  const refused: readonly (readonly [Json, Json, RegExp])[] = [
    [{}, { default: toStdout }, /'output stdout of the default log' is not supported yet/],
    [{}, { default: { level: 'ERROR' } }, /'level ERROR' is not supported yet, at logging\.logs\.default\.level/],
    [{}, { log0: { ...site, level: 'WARN' } }, /'level WARN' is not supported yet/],
    [{}, { default: { include: ['admin.api'] } }, /'log filter admin\.api' is not supported yet/],
    [{}, { default: { exclude: ['http.log.access'] } }, /'log filter http\.log\.access' is not supported yet/],
    [{}, { default: { exclude: ['http.log.access.gone'] } }, /'log filter http\.log\.access\.gone' is not/],
    [{}, { audit: toStdout }, /'log audit' is not supported yet: besides the default log only sites have one/],
    [{}, { log0: { ...site, exclude: ['http.log.access.log1'] } }, /'log log0' is not supported yet/],
  ];
  for (const [logs, loggers, message] of refused) assert.throws(() => compile(logs, loggers), message);
});

test('the default log may leave out what the log of a site takes', () => {
  const log0 = { writer: { output: 'discard' }, include: ['http.log.access.log0'] };
  const loggers = { log0, default: { exclude: ['http.log.access.log0'] } };
  assert.deepEqual(plan({ default_logger_name: 'log0' }, loggers), { hosts: {}, others: [] });
});

test('debug is the level of the default logger', () => {
  assert.equal(compile(null).debug, false);
  assert.equal(compile(null, { default: { level: 'debug' } }).debug, true);
});
