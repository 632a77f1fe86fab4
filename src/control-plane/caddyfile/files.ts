import { readdirSync, readFileSync, statSync } from 'node:fs';

/** How `import` reaches other files. Paths are as written, made relative to the importing file. */
export interface FileReader {
  /** Text of a file; throws when it cannot be read. */
  readFile(path: string): string;
  /** Files that fit a pattern with one `*`, sorted; names that begin with a dot do not count. */
  glob(pattern: string): readonly string[];
}

export function localFiles(): FileReader {
  return { readFile: (name) => readFileSync(name, 'utf8'), glob: globLocal };
}

/** The one `*` may stand in any part of the path, for any run of characters but `/`. */
function globLocal(pattern: string): readonly string[] {
  const parts = pattern.split('/');
  const wild = parts.findIndex((part) => part.includes('*'));
  if (wild === -1) return [pattern];
  const folder = parts.slice(0, wild).join('/') || (pattern.startsWith('/') ? '/' : '.');
  const [head = '', tail = ''] = (parts[wild] ?? '').split('*');
  const rest = parts.slice(wild + 1);
  return entriesOf(folder)
    .filter((name) => fits(name, head, tail))
    .map((name) => [...parts.slice(0, wild), name, ...rest].join('/'))
    .filter(isFile)
    .toSorted();
}

function fits(name: string, head: string, tail: string): boolean {
  if (name.startsWith('.') && !head.startsWith('.')) return false;
  return name.length >= head.length + tail.length && name.startsWith(head) && name.endsWith(tail);
}

function entriesOf(folder: string): readonly string[] {
  try {
    return readdirSync(folder);
  } catch {
    return [];
  }
}

function isFile(name: string): boolean {
  return statSync(name, { throwIfNoEntry: false })?.isFile() ?? false;
}
