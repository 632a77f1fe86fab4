export interface SignalActions {
  /** The first signal that asks for an end. */
  readonly drain: (signal: string) => void;
  /** The second one. */
  readonly force: () => void;
  /** Left out: SIGHUP asks for an end too. */
  readonly hangup?: () => void;
}

/**
 * SIGTERM and SIGINT ask for an end. SIGHUP without a handler would end the process with all its connections, and
 * other servers reload on it. Returns what takes the handlers away again.
 */
export function onSignals({ drain, force, hangup }: SignalActions): () => void {
  let seen = false;
  const handler = (signal: NodeJS.Signals): void => {
    if (seen) return force();
    seen = true;
    drain(signal);
  };
  process.on('SIGTERM', handler);
  process.on('SIGINT', handler);
  process.on('SIGHUP', hangup ?? handler);
  return () => {
    process.off('SIGTERM', handler);
    process.off('SIGINT', handler);
    process.off('SIGHUP', hangup ?? handler);
  };
}
