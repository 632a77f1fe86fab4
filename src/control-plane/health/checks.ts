import type { Clock } from '../../shared/clock.ts';
import { joinHostPort, unixPath } from '../../shared/net/address.ts';
import type { Random } from '../../shared/random.ts';
import type { Rows } from '../../shared/state-table/table.ts';
import type { CheckSpec, MemberSpec } from '../compile/compiled.ts';
import { CheckRecord, type Transition } from './check-record.ts';
import type { Probe, ProbeOptions, ProbeTarget, ServerProbe } from './probe.ts';
import { REFUSAL_MEMORY_MS } from './probes/udp.ts';
import { countsNow, isAbout, refusalResult } from './refusal.ts';
import { ProbeScheduler, type ProbeJob } from './scheduler.ts';
import type { VerdictState } from './verdict.ts';

/** Rows of the kind `check`. */
interface CheckRows {
  readonly rows: Rows;
  take(): number;
  give(row: number): void;
}

/** What a check is about. */
export interface CheckSubject {
  /** Row of the address. */
  readonly slot: number;
  /** Where the address is. */
  readonly target: ProbeTarget;
  /** The upstream as configured: its name goes into the Host field. */
  readonly member: MemberSpec;
  readonly spec: CheckSpec;
}

export interface ChecksDeps {
  readonly clock: Clock;
  readonly random: Random;
  readonly rows: CheckRows;
  /** The probe of a definition; asked once for each. */
  readonly probeOf: (spec: CheckSpec) => Probe;
  /** Refusals that traffic met at a slot, a total. Absent = nobody counts. */
  readonly refusals?: (slot: number) => number;
  /** Probes running at the same time. Default 64. */
  readonly concurrency?: number;
  onTransition(check: RunningCheck, transition: Transition): void;
}

/** One (address, check definition) that at least one user holds. */
export interface RunningCheck {
  readonly key: string;
  readonly record: CheckRecord;
  readonly subject: CheckSubject;
  readonly job: ProbeJob;
  users: number;
}

/**
 * All verdicts, keyed by address and check definition: an unchanged check of an unchanged address
 * keeps its state over a reload, and two checks of one address never share an opinion. The Host name
 * sent is part of the definition: one address can serve several names, each with health of its own.
 */
export class Checks {
  readonly #deps: ChecksDeps;
  readonly #scheduler: ProbeScheduler;
  readonly #checks: Map<string, RunningCheck> = new Map();
  /** Compiling payloads and patterns is dear, and all members of a pool share one definition. */
  readonly #probes: WeakMap<CheckSpec, Probe> = new WeakMap();

  constructor(deps: ChecksDeps) {
    this.#deps = deps;
    this.#scheduler = new ProbeScheduler(deps);
  }

  /** The check of the subject, new or known; one user more. `begin` gives the state of a new one. */
  hold(subject: CheckSubject, begin: () => VerdictState): RunningCheck {
    const key = `${subject.slot} ${authorityOf(subject)} ${subject.spec.hash}`;
    const known = this.#checks.get(key);
    if (known !== undefined) {
      known.users += 1;
      return known;
    }
    const record = new CheckRecord(this.#deps.rows.rows, this.#deps.rows.take(), subject.spec, begin());
    const job = this.#jobOf(subject, (result) => this.#take(check, result));
    const check: RunningCheck = { key, record, subject, job, users: 1 };
    this.#checks.set(key, check);
    return check;
  }

  /** One user less; the last one stops the probes and forgets the verdict. */
  release(check: RunningCheck): void {
    check.users -= 1;
    if (check.users > 0) return;
    this.#scheduler.remove(check.job);
    this.#checks.delete(check.key);
    this.#deps.rows.give(check.record.row);
  }

  /** Probes it from now on. */
  start(check: RunningCheck): void {
    this.#scheduler.add(check.job);
  }

  /** Stops to probe all but these; their verdicts stay as they are. */
  stopOthers(wanted: ReadonlySet<RunningCheck>): void {
    for (const check of this.#checks.values()) if (!wanted.has(check)) this.#scheduler.remove(check.job);
  }

  /** Traffic was refused at the address: as good as a failed check, if the check is about that address at all. */
  refused(check: RunningCheck): void {
    const { target, member, spec } = check.subject;
    const network = member.network ?? 'tcp';
    const lastFailureAt = check.record.lastFailure?.at ?? 0;
    if (!isAbout(spec, target, network) || !countsNow(spec, lastFailureAt, this.#deps.clock.wall())) return;
    this.#take(check, refusalResult(target, network));
  }

  stop(): void {
    this.#scheduler.stop();
  }

  #take(check: RunningCheck, result: Parameters<CheckRecord['take']>[0]): void {
    const transition = check.record.take(result, this.#deps.clock.wall());
    if (transition !== null) this.#deps.onTransition(check, transition);
  }

  #jobOf(subject: CheckSubject, onResult: ProbeJob['onResult']): ProbeJob {
    const { spec } = subject;
    const target = targetOf(subject);
    const { clock } = this.#deps;
    const shared = this.#probeOf(spec);
    const own: ServerProbe | undefined = shared.forServer?.();
    const { refusals } = this.#deps;
    let known = refusals?.(subject.slot) ?? 0;
    let refusedAt = Number.NEGATIVE_INFINITY;
    const refusedByTraffic = (): boolean => {
      const total = refusals?.(subject.slot) ?? 0;
      if (total !== known) refusedAt = clock.now();
      known = total;
      return clock.now() - refusedAt <= Math.max(spec.intervalMs, REFUSAL_MEMORY_MS);
    };
    return {
      intervalMs: spec.intervalMs,
      ...(spec.jitter === undefined ? {} : { jitter: spec.jitter }),
      idle: spec.probe.kind === 'udp' && spec.probe.expect === null,
      // Options are made for each run: kept for tens of thousands of servers they would fill the memory.
      run: (signal) => {
        // What happened since the last probe is noticed now, and what happens meanwhile when the probe asks.
        refusedByTraffic();
        return (own ?? shared).run(target, { ...optionsOf(subject), refusedByTraffic }, { clock, signal });
      },
      onResult,
      close: () => own?.close(),
    };
  }

  #probeOf(spec: CheckSpec): Probe {
    const probe = this.#probes.get(spec) ?? this.#deps.probeOf(spec);
    this.#probes.set(spec, probe);
    return probe;
  }
}

function optionsOf(subject: CheckSubject): ProbeOptions {
  const { spec } = subject;
  return {
    timeoutMs: spec.timeoutMs,
    intervalMs: spec.intervalMs,
    authority: authorityOf(subject),
    ...(spec.localAddress === undefined ? {} : { localAddress: spec.localAddress }),
    ...(spec.proxyProtocol === undefined ? {} : { proxyProtocol: spec.proxyProtocol }),
  };
}

/** Where the probe goes: the check's own address, else the server's, with the check's port or its own. */
function targetOf({ spec, target }: CheckSubject): ProbeTarget {
  return { host: spec.address?.host ?? target.host, port: spec.address?.port ?? spec.port ?? target.port };
}

/** What the probe calls the server: as `targetOf`, with the configured name instead of the resolved address. */
function authorityOf({ spec, member }: CheckSubject): string {
  const host = spec.address?.host ?? member.host;
  // A socket has no name that a server could know it by.
  if (unixPath(host) !== null) return 'localhost';
  return joinHostPort(host, spec.address?.port ?? spec.port ?? member.port);
}
