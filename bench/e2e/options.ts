import { availableParallelism } from 'node:os';
import { parseArgs } from 'node:util';

export interface BenchOptions {
  readonly rounds: number;
  /** Seconds under load per proxy and round. */
  readonly seconds: number;
  readonly connections: number;
  /** Idle connections opened for the memory figure. */
  readonly idle: number;
  /** Starts measured for the time to the first answer. */
  readonly starts: number;
  /** Names of proxies; empty = all. */
  readonly only: readonly string[];
  /** Folder of a second checkout with a `dist`; measured as `holdfast-b`. */
  readonly against: string | null;
  readonly json: boolean;
  readonly loadOnly: boolean;
}

export const USAGE = `usage: npm run bench -- [options]
  --rounds N        interleaved rounds (default 5)
  --seconds N       seconds under load per proxy and round (default 4)
  --connections N   client connections (default 64)
  --idle N          idle connections for the memory figure (default 8000)
  --starts N        starts measured for the time to the first answer (default 5)
  --only A,B        only these: nginx, haproxy, caddy, node-http, http-proxy, holdfast
  --against DIR     a second checkout with a built dist, measured as holdfast-b in the same rounds
  --load-only       no memory and start figures
  --json            one JSON document on stdout in place of the tables
`;

/** Throws a plain Error when an option is unknown or no number. */
export function readOptions(args: readonly string[]): BenchOptions {
  const { values } = parseArgs({
    args: [...args],
    options: {
      rounds: { type: 'string', default: '5' },
      seconds: { type: 'string', default: '4' },
      connections: { type: 'string', default: '64' },
      idle: { type: 'string', default: '8000' },
      starts: { type: 'string', default: '5' },
      only: { type: 'string', default: '' },
      against: { type: 'string' },
      'load-only': { type: 'boolean', default: false },
      json: { type: 'boolean', default: false },
    },
  });
  return {
    rounds: count('rounds', values.rounds, 100),
    seconds: count('seconds', values.seconds, 600),
    connections: count('connections', values.connections, 2_000),
    idle: count('idle', values.idle, 10_000),
    starts: count('starts', values.starts, 100),
    only: values.only === '' ? [] : values.only.split(','),
    against: values.against ?? null,
    json: values.json,
    loadOnly: values['load-only'],
  };
}

/** The first core is the proxy's, the others are for load generator and backends. One core: they share it. */
export function coreLists(): { proxy: string; others: string } {
  const cores = availableParallelism();
  if (cores < 2) return { proxy: '0', others: '0' };
  return { proxy: '0', others: cores === 2 ? '1' : `1-${cores - 1}` };
}

function count(name: string, text: string, max: number): number {
  const value = /^\d+$/.test(text) ? Number(text) : 0;
  if (value >= 1 && value <= max) return value;
  throw new Error(`--${name} must be a whole number from 1 to ${max}, not '${text}'`);
}
