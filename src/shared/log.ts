/** What the planes say to the log. The CLI and the embedding program choose where it goes. */
export type LogLevel = 'debug' | 'info' | 'warn' | 'error';

export type LogFields = Readonly<Record<string, unknown>>;

export interface Logger {
  debug(message: string, fields?: LogFields): void;
  info(message: string, fields?: LogFields): void;
  warn(message: string, fields?: LogFields): void;
  error(message: string, fields?: LogFields): void;
}

/** A logger that hands each record to `sink`. */
export function loggerTo(sink: (level: LogLevel, message: string, fields: LogFields) => void): Logger {
  return {
    debug: (message, fields = {}) => sink('debug', message, fields),
    info: (message, fields = {}) => sink('info', message, fields),
    warn: (message, fields = {}) => sink('warn', message, fields),
    error: (message, fields = {}) => sink('error', message, fields),
  };
}

export const silentLogger: Logger = loggerTo(() => {});
