import type { Balancer } from '../balancer.ts';
import { createRootLogger } from '../control-plane/logging/root-logger.ts';
import type { LoadRequest } from '../control-plane/types.ts';
import { createBalancer } from '../embed.ts';
import type { Logger } from '../shared/log.ts';
import { joinHostPort } from '../shared/net/address.ts';
import { dataFolder } from './data-folder.ts';
import { logWarnings, type Terminal } from './output.ts';
import { onSignals } from './signals.ts';

export interface RunSettings {
  readonly workers?: number;
  /** Keep secrets and what operators set in the user's data folder. */
  readonly keepsData: boolean;
  /** Called once it serves; returns what ends its work. */
  readonly started: (balancer: Balancer, log: Logger) => () => void;
}

/** How long a second signal waits for connections to be reset. */
const FORCED_END_MS = 500;

/** Runs a balancer as this process: signals, uncaught exceptions, logs on stderr. Resolves when it ended. */
export async function runBalancer(request: LoadRequest, terminal: Terminal, settings: RunSettings): Promise<void> {
  const log = createRootLogger(terminal.stderr);
  ignoreBrokenPipes(terminal);
  const balancer = await createBalancer({
    config: request.text,
    adapter: request.adapter,
    filename: request.filename,
    env: terminal.env,
    admin: true,
    log,
    onLogLevel: (level) => log.setLevel(level),
    onLogOutput: (output) => log.setOutput(output),
    onWarnings: (warnings) => logWarnings(log, warnings),
    ...(settings.keepsData ? { dataDir: dataFolder(terminal.env) } : {}),
    ...(settings.workers === undefined ? {} : { workers: settings.workers }),
  });
  const release = takeOverProcess(balancer, log, 'isTTY' in terminal.stderr && terminal.stderr.isTTY === true);
  const finish = settings.started(balancer, log);
  log.info('serving', {
    listeners: [...balancer.addresses()].map(([key, { host, port }]) =>
      key.startsWith('udp/') ? `udp/${joinHostPort(host, port)}` : joinHostPort(host, port),
    ),
  });
  await balancer.stopped();
  finish();
  release();
  log.info('stopped');
}

/** Signal and exception handlers belong to the process, so only the commands that own it install them. */
function takeOverProcess(balancer: Balancer, log: Logger, atTerminal: boolean): () => void {
  const releaseSignals = onSignals({
    drain: (signal) => {
      log.info('finishing running work; a second signal ends it at once', { signal });
      void balancer.drain();
    },
    force: () => {
      log.warn('second signal: ending at once');
      setTimeout(() => process.exit(1), FORCED_END_MS).unref();
      void balancer.stop(0).finally(() => process.exit(1));
    },
    // At a terminal it says that the terminal is gone.
    ...(atTerminal
      ? {}
      : { hangup: () => log.warn('SIGHUP is ignored: use holdfast reload to load a changed config') }),
  });
  const noteFault = (error: unknown): void => balancer.noteFault(error);
  process.on('uncaughtException', noteFault);
  process.on('unhandledRejection', noteFault);
  return () => {
    releaseSignals();
    process.off('uncaughtException', noteFault);
    process.off('unhandledRejection', noteFault);
  };
}

/** Whoever reads the logs may go away (`holdfast run | head`); that must not end the service. */
function ignoreBrokenPipes({ stdout, stderr }: Terminal): void {
  stdout.on('error', () => {});
  stderr.on('error', () => {});
}
