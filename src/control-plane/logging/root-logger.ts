import { pino, type Logger as PinoLogger } from 'pino';
import { loggerTo, type LogFields, type Logger, type LogLevel } from '../../shared/log.ts';
import { consoleLine, readableStream } from './readable.ts';

/** Where log lines go: a stream such as `process.stderr`. */
export interface LogTarget {
  write(text: string): unknown;
  readonly isTTY?: boolean;
}

type LogFormat = 'json' | 'console';

export interface RootLogger extends Logger {
  /** From now on only lines of this level and worse are written. */
  setLevel(level: LogLevel): void;
  /** From now on lines go to `write`, or to the target again, in this form. */
  setOutput(output: { readonly format: LogFormat | null; readonly write: ((line: string) => void) | null }): void;
}

/** The logger of a process: JSON lines, or readable text when the target is a terminal. Level `info`. */
export function createRootLogger(target: LogTarget): RootLogger {
  const own = target.isTTY === true ? readableStream(target) : target;
  let destination: Pick<LogTarget, 'write'> = own;
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
    setOutput: ({ format, write: take }) => {
      const plain = take === null ? target : { write: take };
      if (format === 'console') destination = { write: (line) => plain.write(consoleLine(line)) };
      else destination = take === null && format === null ? own : plain;
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
