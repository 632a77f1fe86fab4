import type { Clock } from '../../shared/clock.ts';
import { LANE_CONNECTIONS, LANE_TUNNELS } from '../../shared/state-table/layout.ts';
import type { StateTable } from '../../shared/state-table/table.ts';
import type { ControlPlane, WorkerStatus } from '../types.ts';
import type { Sample } from './sample.ts';

const WORKER_STATES: readonly WorkerStatus['state'][] = ['starting', 'serving', 'retiring', 'restarting'];

/** Adds reloads, readiness, workers, and the process itself. */
export function collectProcess(plane: ControlPlane, version: string, clock: Clock, sample: Sample): void {
  collectReloads(plane, sample);
  sample.set('connections', [], sumLanes(plane.table, LANE_CONNECTIONS));
  sample.set('tunnels', [], sumLanes(plane.table, LANE_TUNNELS));
  const workers = plane.workers();
  for (const state of WORKER_STATES) {
    sample.set('workers', [state], workers.filter((worker) => worker.state === state).length);
  }
  const restarts = plane.workerRestarts();
  sample.set('workerRestarts', ['crash'], restarts.crashes);
  sample.set('workerRestarts', ['hang'], restarts.hangs);
  sample.set('buildInfo', [version, process.version], 1);
  sample.set('startTime', [], clock.wall() / 1000 - process.uptime());
  sample.set('residentMemory', [], process.memoryUsage.rss());
  const { user, system } = process.cpuUsage();
  sample.set('cpu', [], (user + system) / 1e6);
}

function collectReloads(plane: ControlPlane, sample: Sample): void {
  const reloads = plane.reloads();
  sample.set('reloadSuccessful', [], reloads.lastSuccessful ? 1 : 0);
  sample.set('reloadSuccessTime', [], reloads.lastSuccessSeconds);
  sample.set('reloads', ['success'], reloads.total - reloads.failures);
  sample.set('reloads', ['failure'], reloads.failures);
  sample.set('generation', [], reloads.generation);
  sample.set('ready', [], plane.degraded().length === 0 ? 1 : 0);
}

function sumLanes(table: StateTable, word: number): number {
  let sum = 0;
  for (let lane = 0; lane < table.lanes.capacity; lane += 1) sum += table.lanes.load(lane, word);
  return sum;
}
