/** Errors on their way out of a thread: a structured clone keeps the classes of the language, not ours. */
import { ConfigError, type ConfigPosition } from '../../shared/config-error.ts';

export type Fault =
  | {
      readonly kind: 'config';
      readonly message: string;
      readonly position: ConfigPosition | null;
      /** null = it names none. */
      readonly cause: Fault | null;
    }
  | { readonly kind: 'other'; readonly error: unknown };

export function packError(error: unknown): Fault {
  if (!(error instanceof ConfigError)) return { kind: 'other', error };
  const { message, position, cause } = error;
  return { kind: 'config', message, position, cause: cause === undefined ? null : packError(cause) };
}

export function unpackError(fault: Fault): unknown {
  if (fault.kind === 'other') return fault.error;
  const { message, position, cause } = fault;
  return new ConfigError(message, position, cause === null ? {} : { cause: unpackError(cause) });
}
