import { readFileSync } from 'node:fs';

/** The version in package.json, one folder above both `src` and `dist`. */
export function packageVersion(): string {
  const text = readFileSync(new URL('../package.json', import.meta.url), 'utf8');
  const json: unknown = JSON.parse(text);
  return typeof json === 'object' && json !== null && 'version' in json ? String(json.version) : 'unknown';
}
