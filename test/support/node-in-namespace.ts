/** Holdfast as a node of its own in a network namespace, asked through its admin API there. */
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { TestContext } from 'node:test';
import { eventually } from './backend.ts';
import type { Namespace } from './namespace.ts';
import { type Program, temporaryFolder } from './program.ts';

const HOLDFAST = fileURLToPath(new URL('../../bin/holdfast.js', import.meta.url));

/** Prints one answer of the admin API. */
const ASK = `
  fetch('http://localhost:2019' + process.argv[1])
    .then((answer) => answer.text())
    .then((text) => console.log(text));
`;

export interface SeenCheck {
  readonly name: string;
  readonly reason: string;
  readonly results: readonly { readonly outcome: string; readonly reason: string; readonly local_address: string }[];
}

export interface SeenUpstream {
  readonly upstream: string;
  readonly state: string;
  readonly why: string;
  readonly best_effort: boolean;
  readonly in_flight: number;
  readonly endpoints: readonly { readonly checks: readonly SeenCheck[] }[];
}

export interface BalancerNode {
  readonly namespace: Namespace;
  readonly program: Program;
  upstreams(): Promise<readonly SeenUpstream[]>;
  /** Waits until the upstream whose text ends so is in that state, and returns how it is seen then. */
  until(ending: string, state: string): Promise<SeenUpstream>;
}

/** Starts it with this Caddyfile and waits until it is ready. */
export async function startNode(
  t: TestContext,
  namespace: Namespace,
  caddyfile: string,
  env: Readonly<Record<string, string>> = {},
): Promise<BalancerNode> {
  const folder = await temporaryFolder(t);
  const config = join(folder, 'Caddyfile');
  await writeFile(config, caddyfile);
  const variables = Object.entries({ XDG_DATA_HOME: folder, ...env }).map(([name, value]) => `${name}=${value}`);
  const program = namespace.start(
    '/usr/bin/env',
    ...variables,
    process.execPath,
    HOLDFAST,
    'run',
    '--config',
    config,
    '--workers',
    '1',
  );
  const ask = async (path: string): Promise<string> =>
    (await namespace.run(process.execPath, '-e', ASK, path)).stdout.trim();
  const upstreams = async (): Promise<readonly SeenUpstream[]> => {
    const text = await ask('/upstreams');
    return text === '' ? [] : (JSON.parse(text) as SeenUpstream[]);
  };
  await eventually(
    async () => {
      if (program.child.exitCode !== null) throw new Error(`it ended: ${program.output()}`);
      return (await ask('/health/ready')).includes('"ready"');
    },
    'the node to be ready',
    60_000,
  );
  return {
    namespace,
    program,
    upstreams,
    async until(ending, state) {
      let found: SeenUpstream | undefined;
      await eventually(
        async () => {
          found = (await upstreams()).find(({ upstream }) => upstream.endsWith(ending));
          return found?.state === state;
        },
        `${ending} to be ${state}`,
        60_000,
      );
      return found!;
    },
  };
}
