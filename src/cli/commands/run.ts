import type { Command } from 'commander';
import type { LoadRequest } from '../../control-plane/types.ts';
import { changeLines } from '../changes-text.ts';
import { readConfigFile, type ConfigOptions } from '../config-file.ts';
import { logWarnings, type Terminal } from '../output.ts';
import { addConfigOptions, readWorkers } from '../shared-options.ts';
import { watchFile } from '../watch.ts';

interface RunOptions extends ConfigOptions {
  readonly workers?: string;
  readonly watch?: boolean;
}

/** `run [--config F] [--adapter A] [--workers N] [--watch]`: serves until SIGTERM, SIGINT or `stop`. */
export function addRunCommand(program: Command, terminal: Terminal): void {
  addConfigOptions(program.command('run'))
    .description('run the balancer in this terminal')
    .option('--workers <n>', 'worker threads (default: one per core)')
    .option('--watch', 'reload when the config file changes')
    .action(async (options: RunOptions) => {
      const request = await readConfigFile(options);
      const workers = options.workers === undefined ? undefined : readWorkers(options.workers);
      // Imported here, so that the small commands start fast.
      const { runBalancer } = await import('../run-balancer.ts');
      await runBalancer(request, terminal, {
        keepsData: true,
        ...(workers === undefined ? {} : { workers }),
        started: (balancer, log) => {
          if (options.watch !== true) return () => {};
          return watchFile(request.filename, async () => {
            try {
              const fresh: LoadRequest = await readConfigFile(options);
              const { warnings, unchanged, changes } = await balancer.reload(fresh.text, fresh);
              logWarnings(log, warnings);
              if (!unchanged)
                log.info('config file changed: reloaded', { file: fresh.filename, changes: changeLines(changes) });
            } catch (error) {
              log.error('config file changed, but it was not loaded: the old config goes on', { error });
            }
          });
        },
      });
    });
}
