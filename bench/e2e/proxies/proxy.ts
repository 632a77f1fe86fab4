import type { Bench } from '../bench.ts';
import type { Running, SpawnPlan } from '../processes.ts';
import { freePorts } from '../ports.ts';
import { askUntilAnswered } from '../ready.ts';

/** A proxy that can be measured: forwards to all `backends` with source affinity and the usual forwarding fields. */
export interface ProxyKind {
  readonly name: string;
  /** Why it cannot be started here; '' = it can. */
  missing(): string;
  /** `adminPort` is free, for proxies that have a second listener. */
  plan(bench: Bench, port: number, adminPort: number, backends: readonly number[]): SpawnPlan;
}

export interface RunningProxy {
  readonly name: string;
  readonly port: number;
  readonly running: Running;
}

export async function startProxy(bench: Bench, kind: ProxyKind, backends: readonly number[]): Promise<RunningProxy> {
  const [port = 0, adminPort = 0] = await freePorts(2);
  const running = bench.processes.start(kind.plan(bench, port, adminPort, backends));
  await askUntilAnswered(port, '/', running, kind.name);
  return { name: kind.name, port, running };
}
