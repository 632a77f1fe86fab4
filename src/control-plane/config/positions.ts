/** From a JSON path (`apps.http.servers.srv0.routes.0`) back to the file and line it was written at. */
import { ConfigError } from '../../shared/config-error.ts';
import type { ConfigPosition } from '../../shared/config-error.ts';

export type Positions = ReadonlyMap<string, ConfigPosition>;

/** The position of the longest prefix of `path` that has one. */
export function findPosition(positions: Positions, path: string): ConfigPosition | null {
  for (let end = path.length; end > 0; end = path.lastIndexOf('.', end - 1)) {
    const position = positions.get(path.slice(0, end));
    if (position !== undefined) return position;
  }
  return positions.get('') ?? null;
}

/** `<message>, at <file>:<line>`; without a position the JSON path stands in for it. */
export function configErrorAt(positions: Positions, path: string, message: string): ConfigError {
  const position = findPosition(positions, path);
  if (position === null) return new ConfigError(path === '' ? message : `${message}, at ${path}`);
  return new ConfigError(`${message}, at ${printPosition(position)}`, position);
}

/** Where `path` was written, in words: `Caddyfile:3`, or the path itself. */
export function describePlace(positions: Positions, path: string): string {
  const position = findPosition(positions, path);
  return position === null ? path : printPosition(position);
}

function printPosition({ file, line, importChain = [] }: ConfigPosition): string {
  const imports = importChain.length === 0 ? '' : ` import chain [${importChain.map((link) => `'${link}'`).join(' ')}]`;
  return `${file}:${line}${imports}`;
}
