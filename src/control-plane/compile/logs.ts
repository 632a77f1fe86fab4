/** Access lines: which requests of a server are logged, and where their lines go. */
import type { LogLevel } from '../../shared/log.ts';
import type { AccessLogPlan, AccessOutput, AccessSink } from '../../shared/plan/types.ts';
import type { ServerLogsConfig } from '../config/schema/http-server.ts';
import type { WriterConfig } from '../config/schema/log-writer.ts';
import type { LogConfig, LoggingConfig } from '../config/schema/logging.ts';
import type { Compilation } from './compilation.ts';
import type { OwnLogSpec } from './compiled.ts';
import { sinkOf } from './log-files.ts';
import { netSinkOf } from './log-nets.ts';

export function compileAccessLog(config: ServerLogsConfig | null, logging: LoggingConfig): AccessLogPlan | null {
  if (config === null) return null;
  const outputsOf = (names: readonly string[]): AccessOutput[] => {
    const outputs = names
      .flatMap((name) => outputOf(logging, name))
      .map((output) => [JSON.stringify(output), output] as const);
    return [...new Map(outputs).values()];
  };
  const hosts = Object.entries(config.logger_names).map(([host, names]) => [hostOf(host), outputsOf(names)] as const);
  const skipped = config.skip_hosts.map((host) => [hostOf(host), []] as const);
  return {
    hosts: Object.fromEntries([...hosts, ...skipped]),
    others: config.skip_unmapped_hosts ? [] : outputsOf([config.default_logger_name]),
  };
}

/** Lines go to stderr unless the logger that takes them says otherwise. */
function outputOf(logging: LoggingConfig, name: string): AccessOutput[] {
  const log = logging.logs[name === '' ? 'default' : name];
  const writer: WriterConfig = log?.writer ?? { output: 'stderr' };
  if (writer.output === 'discard') return [];
  const encoder = log?.encoder ?? null;
  return [
    {
      sink: sinkOfWriter(writer),
      format: encoder?.format ?? 'json',
      filters: encoder?.filters ?? [],
      errorsOnly: log?.level === 'WARN' || log?.level === 'ERROR',
      sampling: log?.sampling ?? null,
    },
  ];
}

function sinkOfWriter(writer: Exclude<WriterConfig, { output: 'discard' }>): AccessSink {
  if (writer.output === 'net') return netSinkOf(writer.address);
  return writer.output === 'file' ? sinkOf(writer.filename) : writer.output;
}

const LEVELS = { DEBUG: 'debug', INFO: 'info', WARN: 'warn', ERROR: 'error' } as const;

/** The least level of the balancer's own lines. */
export function compileLogLevel(logging: LoggingConfig): LogLevel {
  return LEVELS[logging.logs['default']?.level ?? 'INFO'];
}

/** Where the balancer's own lines go, and the access lines that no other log takes. */
export function compileOwnLog({ logs }: LoggingConfig): OwnLogSpec {
  const { writer = null, encoder = null } = logs['default'] ?? {};
  const sink = writer === null ? 'stderr' : writer.output === 'discard' ? null : sinkOfWriter(writer);
  return { sink, format: encoder?.format ?? null };
}

/** What would drop lines, or send some of the application's elsewhere, does not exist yet. */
export function refuseLogFilters(run: Compilation, logging: LoggingConfig): void {
  for (const [name, log] of Object.entries(logging.logs)) {
    const path = `logging.logs.${name}`;
    if (name === 'default') refuseDefault(run, path, log, logging);
    else refuseNamed(run, path, name, log);
  }
}

/** The default log may leave out what another takes: access lines of a site. */
function refuseDefault(run: Compilation, path: string, log: LogConfig, logging: LoggingConfig): void {
  if ((log.encoder?.filters.length ?? 0) > 0) run.notYet(`${path}.encoder`, 'filters of the default log');
  if (log.sampling !== null) run.notYet(`${path}.sampling`, 'sampling of the default log');
  const taken = new Set(Object.keys(logging.logs).map(accessLogger));
  const foreign = log.include[0] ?? log.exclude.find((source) => !taken.has(source));
  if (foreign !== undefined) run.notYet(path, `log filter ${foreign}`);
}

function refuseNamed(run: Compilation, path: string, name: string, log: LogConfig): void {
  const isOwn = log.include.length === 1 && log.include[0] === accessLogger(name) && log.exclude.length === 0;
  if (!isOwn) run.fail(path, `'log ${name}' is not supported yet: besides the default log only sites have one`);
}

function accessLogger(name: string): string {
  return `http.log.access.${name}`;
}

function hostOf(host: string): string {
  return host.replace(/:\d+$/, '').toLowerCase();
}
