/** A control plane with real workers for one test: what the library wraps, with its counts in reach. */
import type { TestContext } from 'node:test';
import { createControlPlane, type ControlPlaneOptions } from '../../src/control-plane/control-plane.ts';
import type { ControlEvent, ControlPlane, LoadResult } from '../../src/control-plane/types.ts';
import { silentLogger } from '../../src/shared/log.ts';

export interface TestPlane {
  readonly plane: ControlPlane;
  /** Port of the only listener. */
  readonly port: number;
  readonly events: readonly ControlEvent[];
  reload(caddyfile: string): Promise<LoadResult>;
}

export async function startPlane(
  t: TestContext,
  caddyfile: string,
  options: Partial<ControlPlaneOptions> = {},
): Promise<TestPlane> {
  const plane = createControlPlane({ workers: 2, log: silentLogger, env: {}, ...options });
  t.after(() => plane.stop(0));
  const events: ControlEvent[] = [];
  plane.onEvent((event) => events.push(event));
  const reload = (text: string): Promise<LoadResult> =>
    plane.load({ text, adapter: 'caddyfile', filename: 'Caddyfile' });
  await reload(caddyfile);
  const [address] = plane.addresses().values();
  return { plane, port: address!.port, events, reload };
}
