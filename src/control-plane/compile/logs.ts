/** Access lines: which requests of a server are logged, and where all of them go. */
import type { AccessLogPlan } from '../../shared/plan/types.ts';
import type { HttpAppConfig } from '../config/schema/http-app.ts';
import type { ServerLogsConfig } from '../config/schema/http-server.ts';
import type { LogConfig, LoggingConfig, LogOutput } from '../config/schema/logging.ts';
import type { Compilation } from './compilation.ts';

export function compileAccessLog(config: ServerLogsConfig | null): AccessLogPlan | null {
  if (config === null) return null;
  const mapped = Object.keys(config.logger_names).map(hostOf);
  return { hosts: config.skip_unmapped_hosts ? mapped : null, skipHosts: config.skip_hosts.map(hostOf) };
}

/** The one output of all access lines. Lines go to stderr unless a logger that takes them says otherwise. */
export function compileAccessOutput(run: Compilation, logging: LoggingConfig, app: HttpAppConfig): LogOutput {
  refuseFilters(run, logging);
  const outputs = new Map<LogOutput, string>();
  for (const server of Object.values(app.servers)) {
    for (const name of server.logs === null ? [] : loggersOf(server.logs)) {
      outputs.set(logging.logs[name]?.writer?.output ?? 'stderr', name);
    }
  }
  const [first, second] = outputs;
  if (first === undefined) return 'stderr';
  if (second !== undefined) run.notYet(`logging.logs.${second[1]}`, 'access logs with different outputs');
  return first[0];
}

/** Lines of the application: DEBUG or everything from INFO on. */
export function compileDebug(logging: LoggingConfig): boolean {
  return logging.logs['default']?.level === 'DEBUG';
}

function loggersOf(logs: ServerLogsConfig): Set<string> {
  const named = Object.values(logs.logger_names).flat();
  const names = logs.skip_unmapped_hosts && named.length > 0 ? named : [logs.default_logger_name, ...named];
  return new Set(names.map((name) => (name === '' ? 'default' : name)));
}

/** What would drop lines, or send application lines elsewhere, does not exist yet. */
function refuseFilters(run: Compilation, logging: LoggingConfig): void {
  for (const [name, log] of Object.entries(logging.logs)) {
    const path = `logging.logs.${name}`;
    if (log.level === 'WARN' || log.level === 'ERROR') run.notYet(`${path}.level`, `level ${log.level}`);
    if (name === 'default') refuseDefault(run, path, log, logging);
    else refuseNamed(run, path, name, log);
  }
}

/** The default log may leave out what another takes: access lines of a site. */
function refuseDefault(run: Compilation, path: string, log: LogConfig, logging: LoggingConfig): void {
  const output = log.writer?.output ?? 'stderr';
  if (output !== 'stderr') run.notYet(`${path}.writer`, `output ${output} of the default log`);
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
