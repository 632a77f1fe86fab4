import { ConfigError } from '../../shared/config-error.ts';

const SHOWN = 60;

/** `at` is the index of the offending character in `text`. */
export function celFault(text: string, at: number, what: string): ConfigError {
  const rest = text.slice(at);
  const shown = rest.length > SHOWN ? `${rest.slice(0, SHOWN)}…` : rest;
  const place = rest === '' ? 'at its end' : `at character ${at + 1}, before ${shown}`;
  return new ConfigError(`expression: ${what}, ${place}`);
}
