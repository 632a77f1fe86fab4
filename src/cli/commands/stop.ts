import type { Command } from 'commander';
import { DEFAULT_ADMIN_ADDRESS, postAdmin } from '../admin-client.ts';

interface StopOptions {
  readonly address: string;
}

/** `stop [--address A]`: asks a running balancer to drain and end. */
export function addStopCommand(program: Command): void {
  program
    .command('stop')
    .description('ask a running balancer to finish its work and end')
    .option(
      '--address <address>',
      'admin address of the running balancer, host:port or unix//path',
      DEFAULT_ADMIN_ADDRESS,
    )
    .action(async (options: StopOptions) => {
      await postAdmin(options.address, '/stop', '', {});
    });
}
