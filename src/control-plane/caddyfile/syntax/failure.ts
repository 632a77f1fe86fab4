import { ConfigError, type ConfigPosition } from '../../../shared/config-error.ts';
import type { Token } from './token.ts';

export function positionOf(token: Token): ConfigPosition {
  const place = { file: token.file, line: token.line };
  return token.importChain.length > 0 ? { ...place, importChain: token.importChain } : place;
}

/** `<what>, at <file>:<line>`, with the imports that led there. */
export function failure(token: Token, what: string): ConfigError {
  const chain = token.importChain.length > 0 ? ` import chain [${quoteAll(token.importChain)}]` : '';
  return new ConfigError(`${what}, at ${token.file}:${token.line}${chain}`, positionOf(token));
}

/** The form Caddy uses where a whole line is at fault: `<file>:<line>: <what>`. */
export function lineFailure(token: Token, what: string): ConfigError {
  return new ConfigError(`${token.file}:${token.line}: ${what}`, positionOf(token));
}

/** Runs `parse`; a fault inside is told as one of the directive `name`. */
export function within<T>(name: string, parse: () => T): T {
  try {
    return parse();
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    throw new ConfigError(`parsing caddyfile tokens for '${name}': ${error.message}`, error.position, { cause: error });
  }
}

function quoteAll(links: readonly string[]): string {
  return links.map((link) => `'${link}'`).join(' ');
}
