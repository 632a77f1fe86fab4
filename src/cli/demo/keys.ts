import type { ReadStream } from 'node:tty';

/** Calls `pressed` for each key while stdin is a terminal. Ctrl-C stays SIGINT. Returns what ends it. */
export function onKeys(stdin: ReadStream, pressed: (key: string) => void): () => void {
  if (!stdin.isTTY) return () => {};
  const listener = (bytes: Buffer): void => {
    const key = bytes.toString('latin1');
    // In raw mode the terminal no longer turns Ctrl-C into a signal.
    if (key === '\u0003') process.kill(process.pid, 'SIGINT');
    else pressed(key);
  };
  stdin.setRawMode(true);
  stdin.resume();
  stdin.on('data', listener);
  return () => {
    stdin.off('data', listener);
    stdin.setRawMode(false);
    stdin.pause();
  };
}
