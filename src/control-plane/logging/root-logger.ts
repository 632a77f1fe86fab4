import { pino, type Logger as PinoLogger } from 'pino';
import { loggerTo, type LogFields, type Logger, type LogLevel } from '../../shared/log.ts';
import { readableStream } from './readable.ts';

/** Where log lines go: a stream such as `process.stderr`. */
export interface LogTarget {
  write(text: string): unknown;
  readonly isTTY?: boolean;
}

export interface RootLogger extends Logger {
  /** From now on only lines of this level and worse are written. */
  setLevel(level: LogLevel): void;
}

/** The logger of a process: JSON lines, or readable text when the target is a terminal. Level `info`. */
export function createRootLogger(target: LogTarget): RootLogger {
  const destination = target.isTTY === true ? readableStream(target) : target;
  const logger = pino(
    {
      level: 'info',
      base: null,
      timestamp: () => `,"ts":${Date.now() / 1000}`,
      formatters: { level: (label) => ({ level: label }) },
    },
    { write: (line: string) => void destination.write(line) },
  );
  return {
    ...loggerTo((level, message, fields) => write(logger, level, message, fields)),
    setLevel: (level) => {
      logger.level = level;
    },
  };
}

function write(logger: PinoLogger, level: LogLevel, message: string, fields: LogFields): void {
  logger[level](plainFields(fields), message);
}

/** Errors would read as `{}` in JSON: their message is what a log wants, their stack when debugging. */
function plainFields(fields: LogFields): LogFields {
  const entries = Object.entries(fields);
  if (!entries.some(([, value]) => value instanceof Error)) return fields;
  return Object.fromEntries(entries.map(([name, value]) => [name, value instanceof Error ? value.message : value]));
}
