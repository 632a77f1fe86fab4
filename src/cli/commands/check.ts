import type { Command } from 'commander';
import { CliError } from '../failure.ts';
import type { Terminal } from '../output.ts';

interface CheckOptions {
  readonly count: string;
  readonly json?: boolean;
}

/** Probes one after the other; more is a job for a balancer. */
const MAX_COUNT = 1000;

/** `check <probe> <address> [--option value…]`: runs a probe by hand and tells each step of it. */
export function addCheckCommand(program: Command, terminal: Terminal): void {
  program
    .command('check')
    .description('run one health probe by hand and show each step of it')
    .argument('<probe>', 'tcp, udp, http, grpc, dns, smtp, ssh, redis, mqtt or quic')
    .argument('<address>', 'host:port; the port may be left out where the protocol has one of its own')
    .argument('[option...]', 'options of the health block, such as: --timeout 1s --send PING --expect PONG')
    .option('--count <n>', 'number of probes, one interval apart', '1')
    .option('--json', 'print JSON, one line a probe')
    .allowUnknownOption()
    .action(async (probe: string, address: string, words: readonly string[], options: CheckOptions) => {
      const { readCheck } = await import('../check/read-check.ts');
      const { runChecks } = await import('../check/run-checks.ts');
      const check = readCheck(probe, address, words, terminal.env);
      const passed = await runChecks(check, { count: readCount(options.count), json: options.json === true }, terminal);
      if (!passed) throw new CliError(`${probe} ${address}: the check failed`);
    });
}

function readCount(text: string): number {
  const count = /^\d+$/.test(text) ? Number(text) : 0;
  if (count >= 1 && count <= MAX_COUNT) return count;
  throw new CliError(`--count must be a whole number from 1 to ${MAX_COUNT}, not '${text}'`, 2);
}
