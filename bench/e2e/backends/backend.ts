import { installed, type Running } from '../processes.ts';
import { askUntilAnswered } from '../ready.ts';
import { freePorts } from '../ports.ts';
import type { Bench } from '../bench.ts';
import { nginxBackendPlan } from './nginx.ts';
import { nodeBackendPlan } from './node.ts';

const BACKENDS = 3;

export interface Backends {
  readonly kind: string;
  readonly ports: readonly number[];
  readonly running: Running;
}

export async function startBackends(bench: Bench): Promise<Backends> {
  const ports = await freePorts(BACKENDS);
  const kind = installed('nginx') ? 'nginx, one process' : 'node:net, one process';
  const plan = installed('nginx') ? nginxBackendPlan(bench, ports) : nodeBackendPlan(bench, ports);
  const running = bench.processes.start(plan);
  for (const port of ports) await askUntilAnswered(port, '/health', running, 'the backends');
  return { kind, ports, running };
}
