/** Access lines: which requests of a server are logged, and where all of them go. */
import type { AccessLogPlan } from '../../shared/plan/types.ts';
import type { HttpAppConfig } from '../config/schema/http-app.ts';
import type { ServerLogsConfig } from '../config/schema/http-server.ts';
import type { LogConfig, LoggingConfig, LogOutput } from '../config/schema/logging.ts';
import type { Compilation } from './compilation.ts';

const ACCESS_PREFIX = 'http.log.access';

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

/** What would make a logger drop lines, or take others than access lines, does not exist yet. */
function refuseFilters(run: Compilation, logging: LoggingConfig): void {
  for (const [name, log] of Object.entries(logging.logs)) {
    const path = `logging.logs.${name}`;
    const foreign = [...log.include, ...log.exclude].find((source) => !isAccess(source));
    if (foreign !== undefined) run.notYet(path, `log filter ${foreign}`);
    if (log.level === 'WARN' || log.level === 'ERROR') run.notYet(`${path}.level`, `level ${log.level}`);
    if (name === 'default') refuseDefaultOutput(run, path, log);
  }
}

function refuseDefaultOutput(run: Compilation, path: string, log: LogConfig): void {
  const output = log.writer?.output ?? 'stderr';
  if (output !== 'stderr') run.notYet(`${path}.writer`, `output ${output} of the default log`);
}

function isAccess(source: string): boolean {
  return source === ACCESS_PREFIX || source.startsWith(`${ACCESS_PREFIX}.`);
}

function hostOf(host: string): string {
  return host.replace(/:\d+$/, '').toLowerCase();
}
