import { fileURLToPath } from 'node:url';
import type { Command } from 'commander';
import { readConfigFile } from '../config-file.ts';
import { DemoBackends, RESTART_DELAY_MS } from '../demo/backends.ts';
import { onKeys } from '../demo/keys.ts';
import type { Terminal } from '../output.ts';
import { readWorkers } from '../shared-options.ts';

/** The ports `examples/quickstart/Caddyfile` names. */
const BACKEND_PORTS: readonly number[] = [9001, 9002, 9003];

/** `demo`: three backends behind the quickstart config, to be killed one by one. */
export function addDemoCommand(program: Command, terminal: Terminal): void {
  program
    .command('demo')
    .description('run a balancer with three small backends to play with')
    .option('--workers <n>', 'worker threads', '1')
    .action((options: { readonly workers: string }) => runDemo(terminal, readWorkers(options.workers)));
}

async function runDemo(terminal: Terminal, workers: number): Promise<void> {
  const pids = new Map<number, number>();
  const say = (text: string): void => void terminal.stdout.write(text);
  let isReady = false;
  const backends = new DemoBackends(BACKEND_PORTS, {
    up: (backend, pid) => {
      pids.set(backend, pid);
      if (isReady) say(`  backend ${backend} is up again, its clients come home   (kill ${pid})\n`);
    },
    down: (backend) => {
      say(`  backend ${backend} is down: its clients go elsewhere; it starts again in ${RESTART_DELAY_MS / 1000} s\n`);
    },
  });
  try {
    await backends.start();
    const config = fileURLToPath(new URL('../../../examples/quickstart/Caddyfile', import.meta.url));
    const { runBalancer } = await import('../run-balancer.ts');
    await runBalancer(await readConfigFile({ config }), terminal, {
      workers,
      keepsData: false,
      started: (balancer) => {
        isReady = true;
        say(welcome(balancer.address().port, pids, process.stdin.isTTY));
        return onKeys(process.stdin, (key) => backends.toggle(Number(key)));
      },
    });
  } finally {
    backends.stop();
  }
}

function welcome(port: number, pids: ReadonlyMap<number, number>, hasKeys: boolean): string {
  const kills = [...pids]
    .sort(([one], [other]) => one - other)
    .map(([backend, pid]) => `backend ${backend}: kill ${pid}`);
  return `
Holdfast balances three backends at http://localhost:${port}

  Open it in a browser, or ask with curl:
    curl http://127.0.0.1:${port}/                          the same client gets the same backend, every time
    curl --interface 127.0.0.3 http://127.0.0.1:${port}/    (Linux) another client address, another backend

  Take a backend down and ask again: another one takes over, without an error page.
    ${kills.join('   ')}${hasKeys ? '\n    or press 1, 2 or 3: running backends are killed, dead ones started' : ''}
    A killed backend starts again after ${RESTART_DELAY_MS / 1000} seconds, and its clients come home.

  Look inside:
    curl http://localhost:2019/upstreams          every server, its state and its last checks
    curl http://localhost:2019/metrics            Prometheus metrics

  Ctrl-C ends the demo.

`;
}
