import assert from 'node:assert/strict';
import { test } from 'node:test';
import { compileJson, configOf } from '../../../test/support/config-fixtures.ts';
import type { Json } from '../../../test/support/config-fixtures.ts';
import type { AccessOutput } from '../../shared/plan/types.ts';
import type { CompiledConfig } from './compiled.ts';

function compile(logs: Json | null, loggers: Json = {}): CompiledConfig {
  return compileJson(configOf([], logs === null ? {} : { logs }, { logging: { logs: loggers } })).compiled;
}

test('a server without logs writes no access lines', () => {
  assert.equal(compile(null).servers[0]?.options.accessLog, null);
});

/** Sinks alone: what else a logger says has tests of its own. */
function plan(logs: Json, loggers: Json = {}): unknown {
  const { hosts, others } = compile(logs, loggers).servers[0]!.options.accessLog!;
  const sinks = (outputs: readonly AccessOutput[]): string[] => outputs.map(({ sink }) => sink);
  return {
    hosts: Object.fromEntries(Object.entries(hosts).map(([host, outputs]) => [host, sinks(outputs)])),
    others: sinks(others),
  };
}

function outputOf(log: Json): AccessOutput | undefined {
  const loggers = { log0: { include: ['http.log.access.log0'], ...log } };
  return compile({ default_logger_name: 'log0' }, loggers).servers[0]!.options.accessLog!.others[0];
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
    [
      {},
      { default: { encoder: { format: 'filter', fields: { status: { filter: 'delete' } } } } },
      /'filters of the default log' is not supported yet/,
    ],
    [{}, { default: { sampling: {} } }, /'sampling of the default log' is not supported yet/],
    [
      {},
      { log0: { ...site, encoder: { format: 'journald' } } },
      /'journald' is not supported yet, at logging\.logs\.log0/,
    ],
    [{}, { default: { include: ['admin.api'] } }, /'log filter admin\.api' is not supported yet/],
    [{}, { default: { exclude: ['http.log.access'] } }, /'log filter http\.log\.access' is not supported yet/],
    [{}, { default: { exclude: ['http.log.access.gone'] } }, /'log filter http\.log\.access\.gone' is not/],
    [{}, { audit: toStdout }, /'log audit' is not supported yet: besides the default log only sites have one/],
    [{}, { log0: { ...site, exclude: ['http.log.access.log1'] } }, /'log log0' is not supported yet/],
  ];
  for (const [logs, loggers, message] of refused) assert.throws(() => compile(logs, loggers), message);
});

test('the default log decides where the log of the balancer goes, and access lines that no other takes', () => {
  const ownLog = (log: Json): unknown => compile({}, { default: log }).ownLog;
  assert.deepEqual(compile({}).ownLog, { sink: 'stderr', format: null });
  assert.deepEqual(ownLog({ writer: { output: 'stdout' } }), { sink: 'stdout', format: null });
  assert.deepEqual(ownLog({ writer: { output: 'discard' }, encoder: { format: 'json' } }), {
    sink: null,
    format: 'json',
  });
  const filed = { default: { writer: { output: 'file', filename: '/a.log' }, encoder: { format: 'console' } } };
  assert.deepEqual(compile({}, filed).ownLog, { sink: 'file//a.log', format: 'console' });
  assert.deepEqual(
    compile({}, filed).logFiles.map(({ path }) => path),
    ['/a.log'],
  );
  assert.deepEqual(plan({}, filed), { hosts: {}, others: ['file//a.log'] });
});

test('the default log may leave out what the log of a site takes', () => {
  const log0 = { writer: { output: 'discard' }, include: ['http.log.access.log0'] };
  const loggers = { log0, default: { exclude: ['http.log.access.log0'] } };
  assert.deepEqual(plan({ default_logger_name: 'log0' }, loggers), { hosts: {}, others: [] });
});

test('the level of the default logger is that of the balancer', () => {
  assert.equal(compile(null).logLevel, 'info');
  for (const level of ['debug', 'warn', 'error']) {
    assert.equal(compile(null, { default: { level } }).logLevel, level);
  }
});

test('a log file is written with the defaults of Caddy unless the log says otherwise', () => {
  const file = (options: Json): Json => ({
    log0: { include: ['http.log.access.log0'], writer: { output: 'file', filename: 'a.log', ...options } },
  });
  const rotation = { bytes: 104_857_600, interval: '', keep: 10, keepDays: 90, gzip: true, localTime: false };
  const spec = { sink: 'file/a.log', path: 'a.log', mode: 0o600, dirMode: 0o700, rotation };
  assert.deepEqual(compile({}, file({})).logFiles, [spec]);
  assert.deepEqual(compile({}, file({ roll: false, mode: '0640' })).logFiles, [
    { ...spec, mode: 0o640, rotation: null },
  ]);
  const changed = {
    roll_size_mb: 0,
    roll_keep: 3,
    roll_keep_days: 7,
    roll_gzip: false,
    roll_interval: '6h',
    roll_local_time: true,
  };
  const other = { bytes: 0, interval: '6h', keep: 3, keepDays: 7, gzip: false, localTime: true };
  assert.deepEqual(compile({}, file(changed)).logFiles, [{ ...spec, rotation: other }]);
  assert.equal(compile({}, file({ roll_interval: '48h' })).logFiles[0]?.rotation?.interval, '2d');
  assert.equal(compile({}, file({ roll_interval: '15m' })).logFiles[0]?.rotation?.interval, '15m');
  assert.throws(
    () => compile({}, file({ roll_interval: '7m' })),
    /must divide a day.*at logging\.logs\.log0\.writer\.roll_interval/,
  );
  assert.throws(() => compile({}, file({ mode: '999' })), /file mode bits such as 0640/);
  const timed = compile({}, file({ roll_at: ['12:30', '00:00'], roll_minutes: [0] })).logFiles[0]?.rotation?.atMinutes;
  assert.deepEqual(timed?.slice(-13, -10), [720, 750, 780]);
  assert.equal(timed?.length, 25);
  assert.throws(() => compile({}, file({ roll_at: ['24:00'] })), /a time of the day from 00:00 to 23:59/);
  assert.throws(() => compile({}, file({ filename: '{env.LOG}' })), /placeholders in names of log files/);
});

test('two logs may share a file only with the same options', () => {
  const log = (name: string, options: Json): Json => ({
    include: [`http.log.access.${name}`],
    writer: { output: 'file', filename: 'a.log', ...options },
  });
  assert.equal(compile({}, { log0: log('log0', {}), log1: log('log1', {}) }).logFiles.length, 1);
  const differing = { log0: log('log0', {}), log1: log('log1', { roll_keep: 2 }) };
  assert.throws(() => compile({}, differing), /two logs write a\.log with different options/);
});

test('format, filters, level and sampling of a site reach the plan', () => {
  assert.deepEqual(outputOf({}), { sink: 'stderr', format: 'json', filters: [], errorsOnly: false, sampling: null });
  assert.equal(outputOf({ encoder: { format: 'console' } })?.format, 'console');
  assert.equal(outputOf({ level: 'ERROR' })?.errorsOnly, true);
  assert.equal(outputOf({ level: 'INFO' })?.errorsOnly, false);
  assert.deepEqual(outputOf({ sampling: { first: 5 } })?.sampling, { intervalMs: 1000, first: 5, thereafter: 100 });
  const fields = {
    'request>client_ip': { filter: 'ip_mask', ipv4_cidr: 24, ipv6_cidr: 48 },
    'request>uri': { filter: 'delete' },
    'request>headers>Cookie': { filter: 'delete' },
    host: { filter: 'hash' },
    status: { filter: 'rename', name: 'code' },
    upstream: { filter: 'replace', value: 'x' },
  };
  assert.deepEqual(outputOf({ encoder: { format: 'filter', wrap: { format: 'console' }, fields } }), {
    sink: 'stderr',
    format: 'console',
    filters: [
      { field: 'client', filter: 'ip_mask', ipv4: 24, ipv6: 48 },
      { field: 'target', filter: 'delete' },
      { field: 'host', filter: 'hash' },
      { field: 'status', filter: 'rename', name: 'code' },
      { field: 'upstream', filter: 'replace', value: 'x' },
    ],
    errorsOnly: false,
    sampling: null,
  });
  const unknown = { encoder: { format: 'filter', fields: { nonsense: { filter: 'delete' } } } };
  assert.throws(() => outputOf(unknown), /access lines have no field 'nonsense'/);
  const regexp = { encoder: { format: 'filter', fields: { host: { filter: 'multi_regexp' } } } };
  assert.throws(() => outputOf(regexp), /'multi_regexp' is not supported yet/);
});
