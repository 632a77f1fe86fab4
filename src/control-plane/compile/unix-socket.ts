/** `unix//run/holdfast.sock|0660`: a socket in the file system and, in octal, who may use it. */
import type { Compilation } from './compilation.ts';

export interface UnixSocketSpec {
  readonly path: string;
  /** File mode bits. */
  readonly mode: number;
}

/** Its owner only: whoever may write to the socket controls the balancer. */
const DEFAULT_MODE = 0o600;
/** `sun_path` of Linux, the byte that ends it left out. */
const MAX_PATH_BYTES = 107;
const PREFIX = 'unix/';

export function isUnixAddress(address: string): boolean {
  return address.startsWith(PREFIX);
}

/** `path` is the JSON path of the address. */
export function readUnixSocket(run: Compilation, path: string, address: string): UnixSocketSpec {
  const [file = '', mode, surplus] = address.slice(PREFIX.length).split('|');
  if (file.startsWith('@')) run.notYet(path, 'unix/@');
  const bytes = Buffer.byteLength(file);
  if (file === '' || file.includes('\0') || surplus !== undefined) {
    run.fail(path, `'${address}' names no socket: write unix//run/holdfast.sock or unix//run/holdfast.sock|0660`);
  }
  if (bytes > MAX_PATH_BYTES) {
    run.fail(path, `the path of a Unix socket has at most ${MAX_PATH_BYTES} bytes, '${file}' has ${bytes}`);
  }
  if (mode !== undefined && !/^0?[0-7]{3}$/.test(mode)) {
    run.fail(path, `'${mode}' is no mode of a socket: write three octal digits, such as 0660`);
  }
  return { path: file, mode: mode === undefined ? DEFAULT_MODE : Number.parseInt(mode, 8) };
}
