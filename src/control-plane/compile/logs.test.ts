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

test('hosts that are logged and hosts that are skipped', () => {
  const plan = (logs: Json): unknown => compile(logs).servers[0]?.options.accessLog;
  assert.deepEqual(plan({}), { hosts: null, skipHosts: [] });
  assert.deepEqual(plan({ skip_hosts: ['A.test:8080'] }), { hosts: null, skipHosts: ['a.test'] });
  assert.deepEqual(plan({ logger_names: { 'B.test': [''] }, skip_unmapped_hosts: true }), {
    hosts: ['b.test'],
    skipHosts: [],
  });
});

test('access lines go where their logger says, by default to stderr', () => {
  const stdout = { writer: { output: 'stdout' }, include: ['http.log.access.log0'] };
  assert.equal(compile({}).accessOutput, 'stderr');
  assert.equal(compile({ default_logger_name: 'log0' }, { log0: stdout }).accessOutput, 'stdout');
  assert.equal(compile({ logger_names: { 'a.test': 'log0' }, skip_unmapped_hosts: true }, { log0: stdout }).accessOutput, 'stdout');
});

test('two outputs at once, files, filters and levels are refused, not ignored', () => {
  const stdout = { writer: { output: 'stdout' } };
  const mixed = { logger_names: { 'a.test': ['log0'] } };
  assert.throws(() => compile(mixed, { log0: stdout }), /'access logs with different outputs' is not supported yet/);
  assert.throws(() => compile({}, { default: stdout }), /'output stdout of the default log' is not supported yet/);
  assert.throws(() => compile({}, { default: { level: 'ERROR' } }), /'level ERROR' is not supported yet/);
  assert.throws(() => compile({}, { log0: { include: ['admin.api'] } }), /'log filter admin\.api' is not supported yet/);
});

test('debug is the level of the default logger', () => {
  assert.equal(compile(null).debug, false);
  assert.equal(compile(null, { default: { level: 'debug' } }).debug, true);
});
