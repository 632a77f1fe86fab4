import { readFile } from 'node:fs/promises';
import type { Command } from 'commander';
import { parseIp, type IpAddress } from '../../shared/net/ip.ts';
import { readConfigFile, type ConfigOptions } from '../config-file.ts';
import { CliError } from '../failure.ts';
import type { Terminal } from '../output.ts';
import { addConfigOptions, collect } from '../shared-options.ts';

interface SimulateOptions extends ConfigOptions {
  readonly clients: string;
  readonly addresses?: string;
  readonly down: readonly string[];
  readonly json?: boolean;
}

/** More clients change no share by a tenth of a percent. */
const MAX_CLIENTS = 1_000_000;
/** Two runs print the same. */
const SEED = 20_241;

/** `simulate [--config F] [--clients N] [--down A]…`: how clients spread, and what a failure would move. */
export function addSimulateCommand(program: Command, terminal: Terminal): void {
  addConfigOptions(program.command('simulate'))
    .description('show how clients spread over the upstreams, and whom a failure would move')
    .option('--clients <n>', 'number of random IPv4 clients', '10000')
    .option('--addresses <file>', 'take clients from a file, one address a line, instead')
    .option('--down <address>', 'an upstream that is down; may be repeated', collect, [])
    .option('--json', 'print JSON')
    .action(async (options: SimulateOptions) => {
      const request = await readConfigFile(options);
      const { checkConfig } = await import('../check-config.ts');
      const { randomClients } = await import('../../control-plane/explain/clients.ts');
      const { simulate } = await import('../../control-plane/explain/simulation.ts');
      const { PlannedConfig } = await import('../planned-config.ts');
      const { simulationText } = await import('../simulate-text.ts');
      const clients =
        options.addresses === undefined
          ? randomClients(readClients(options.clients), SEED)
          : await readAddresses(options.addresses);
      const planned = new PlannedConfig(checkConfig(request, terminal.env).compiled, options.down);
      if (planned.pools.every(({ pattern }) => pattern !== undefined))
        throw new CliError(
          `${request.filename} has no reverse_proxy and no layer4 proxy with upstreams of its own: nothing to simulate`,
        );
      // Where requests name the upstreams, clients say nothing about shares.
      const pools = planned.pools.filter(({ pattern }) => pattern === undefined);
      const simulations = pools.map((spec) => simulate(spec, clients, (member) => planned.isDown(member)));
      terminal.stdout.write(
        options.json === true ? `${JSON.stringify(simulations)}\n` : simulations.map(simulationText).join('\n'),
      );
    });
}

function readClients(text: string): number {
  const count = /^\d+$/.test(text) ? Number(text) : 0;
  if (count >= 1 && count <= MAX_CLIENTS) return count;
  throw new CliError(`--clients must be a whole number from 1 to ${MAX_CLIENTS}, not '${text}'`, 2);
}

async function readAddresses(file: string): Promise<IpAddress[]> {
  const text = await readFile(file, 'utf8').catch((error: unknown) => {
    throw new CliError(`cannot read ${file}: ${error instanceof Error ? error.message : String(error)}`, 1, {
      cause: error,
    });
  });
  const addresses = text.split('\n').flatMap((line, index) => {
    const word = line.trim();
    if (word === '') return [];
    const address = parseIp(word);
    if (address === null) throw new CliError(`${file}:${index + 1}: '${word}' is not an IP address`);
    return [address];
  });
  if (addresses.length === 0) throw new CliError(`${file} has no addresses`);
  return addresses.slice(0, MAX_CLIENTS);
}
