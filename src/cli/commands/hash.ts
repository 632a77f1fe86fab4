import type { Command } from 'commander';
import { makeHashTable, type HashTable } from '../../data-plane/select/hash-table.ts';
import { parseIp } from '../../shared/net/ip.ts';
import { CliError } from '../failure.ts';
import type { Terminal } from '../output.ts';

interface HashOptions {
  readonly upstreams: string;
  readonly json?: boolean;
}

/** Pools beyond this are a typing error; ip_hash itself has no limit. */
const MAX_UPSTREAMS = 1_000_000;

/** `hash IP [--upstreams N] [--json]`: which server ip_hash gives a client, step by step. */
export function addHashCommand(program: Command, terminal: Terminal): void {
  program
    .command('hash')
    .description('show step by step which upstream ip_hash gives a client address')
    .argument('<ip>', 'IPv4 or IPv6 address of the client')
    .option('--upstreams <n>', 'number of upstreams in the pool', '3')
    .option('--json', 'print JSON')
    .action((ip: string, options: HashOptions) => {
      const table = makeHashTable(readAddress(ip), readUpstreams(options.upstreams));
      terminal.stdout.write(options.json === true ? `${JSON.stringify(table)}\n` : hashText(table));
    });
}

function readAddress(text: string): NonNullable<ReturnType<typeof parseIp>> {
  const address = parseIp(text);
  if (address === null) throw new CliError(`'${text}' is not an IP address`);
  return address;
}

function readUpstreams(text: string): number {
  const count = /^\d+$/.test(text) ? Number(text) : 0;
  if (count >= 1 && count <= MAX_UPSTREAMS) return count;
  throw new CliError(`--upstreams must be a whole number from 1 to ${MAX_UPSTREAMS}, not '${text}'`, 2);
}

const HEADINGS = ['byte', 'after xor', 'after multiply'] as const;

/** The table for people: one row a key byte, then the hash and the pick. */
function hashText(table: HashTable): string {
  const rows = table.steps.map((step) => [step.byte, step.xor, step.product].map(String));
  const widths = HEADINGS.map((heading, at) => Math.max(heading.length, ...rows.map((row) => row[at]?.length ?? 0)));
  const line = (cells: readonly string[]): string => cells.map((cell, at) => cell.padStart(widths[at] ?? 0)).join('  ');
  return [
    `client  ${table.address}`,
    `key     ${table.key}`,
    '',
    line(HEADINGS),
    ...rows.map(line),
    '',
    `hash    ${table.hash}`,
    `index   ${table.hash} mod ${table.upstreams} = ${table.index}   (the first upstream is 0)`,
    '',
  ].join('\n');
}
