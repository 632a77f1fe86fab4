/**
 * SIGTERM and SIGINT: the first one calls `drain`, the second one `force`. Returns what takes the
 * handlers away again.
 */
export function onStopSignals(drain: (signal: string) => void, force: () => void): () => void {
  let seen = false;
  const handler = (signal: NodeJS.Signals): void => {
    if (seen) return force();
    seen = true;
    drain(signal);
  };
  process.on('SIGTERM', handler);
  process.on('SIGINT', handler);
  return () => {
    process.off('SIGTERM', handler);
    process.off('SIGINT', handler);
  };
}
