import type { PlanManifest, PoolRows, PoolSection, Section, SectionHash } from '../../shared/plan/types.ts';
import type { ListenerSpec } from '../compile/compiled.ts';
import type { ListenerChange, Listeners } from '../listeners/listeners.ts';
import { isOwned, type OwnedChange, type OwnedListeners } from '../listeners/owned-listeners.ts';
import type { DataWorker } from '../workers/data-worker.ts';
import { ThreadGoneError } from '../workers/thread.ts';

/** A plan that is ready to be sent. */
export interface PreparedPlan {
  readonly manifest: PlanManifest;
  readonly sections: ReadonlyMap<SectionHash, Section>;
  readonly listeners: readonly ListenerSpec[];
  /** Rows of a pool and of its members `from` to before `to`, as they are now. Throws for a pool nobody prepared. */
  rows(pool: SectionHash, from: number, to: number): PoolRows;
}

/** Cloning so many members takes about 5 ms of a worker's time. */
const MEMBERS_PER_MESSAGE = 1000;

export interface TransactionDeps {
  readonly listeners: Listeners;
  /** Those whose sockets stay in the worker that binds them. */
  readonly owned: OwnedListeners;
  workers(): readonly DataWorker[];
  /** After binding, before anything is irrevocable: opens what the new listeners need. */
  beforeOpen(plan: PreparedPlan): Promise<void>;
  /** The workers are about to be told; nothing can fail from here on. */
  onCommit(plan: PreparedPlan, workers: readonly DataWorker[]): void;
}

/**
 * The two-phase change of the plan: stage in every worker, bind, listen; then all commit. Rejects,
 * with everything as before, when any step fails. A worker that dies on the way is left out (its
 * replacement gets the plan in force), unless nobody is left who could compile the new one.
 *
 * While no worker serves at all, the plan comes into force unproven: what serves now is nothing, and
 * the plan in force may be what keeps workers from living.
 */
export async function applyPlan(plan: PreparedPlan, deps: TransactionDeps): Promise<void> {
  const { listeners, owned } = deps;
  const workers = deps.workers();
  let change: ListenerChange | null = null;
  let ownedChange: OwnedChange | null = null;
  try {
    await stageInAll(workers, plan);
    change = await listeners.stage(plan.listeners.filter((spec) => !isOwned(spec)));
    ownedChange = await owned.stage(plan.listeners.filter(isOwned));
    await deps.beforeOpen(plan);
    await listeners.recall(change);
    await listeners.open(change);
  } catch (error) {
    if (change !== null) listeners.rollback(change);
    if (ownedChange !== null) await owned.rollback(ownedChange);
    for (const worker of workers) worker.rollback(plan.manifest.generation);
    throw error;
  }
  const alive = workers.filter(({ thread }) => thread.alive);
  deps.onCommit(plan, alive);
  const commits = alive.map((worker) => worker.commit(plan.manifest));
  listeners.commit(change);
  owned.commit(ownedChange);
  // A worker that dies now is replaced by one with this plan: nothing to undo.
  await Promise.allSettled(commits);
}

/** Sends a worker every section it lacks, one at a time (a large clone stalls its loop), then the manifest. */
export async function stageIn(worker: DataWorker, plan: PreparedPlan): Promise<void> {
  for (const [hash, section] of plan.sections) {
    if (worker.has(hash)) continue;
    if (section.kind === 'pool') await stagePool(worker, section, plan);
    else await worker.stageSection(section, null);
  }
  await worker.stage(plan.manifest);
}

/** All but the last members go before the section itself. Rows are looked at when they are sent: names may move meanwhile. */
async function stagePool(worker: DataWorker, section: PoolSection, plan: PreparedPlan): Promise<void> {
  const { hash, members } = section;
  let from = 0;
  for (; members.length - from > MEMBERS_PER_MESSAGE; from += MEMBERS_PER_MESSAGE) {
    const to = from + MEMBERS_PER_MESSAGE;
    await worker.stageMembers(hash, members.slice(from, to), plan.rows(hash, from, to).members);
  }
  const last = from === 0 ? section : { ...section, members: members.slice(from) };
  await worker.stageSection(last, plan.rows(hash, from, members.length));
}

async function stageInAll(workers: readonly DataWorker[], plan: PreparedPlan): Promise<void> {
  const results = await Promise.allSettled(workers.map((worker) => stageIn(worker, plan)));
  const failed = results.filter((result) => result.status === 'rejected').map(({ reason }) => reason as Error);
  const refusal = failed.find((error) => !(error instanceof ThreadGoneError));
  if (refusal !== undefined) throw refusal;
  if (failed.length > 0 && failed.length === workers.length) {
    throw new Error('every worker ended while it read the new config: the log says why; the old config stays');
  }
}
