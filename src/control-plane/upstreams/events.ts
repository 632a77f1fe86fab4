/** What is told about upstreams: one function a kind of event. PURE. */
import type { Transition } from '../health/check-record.ts';
import { describeCheck } from '../health/describe.ts';
import { explainReason } from '../health/reasons.ts';
import type { RunningCheck } from '../health/checks.ts';
import type { WatchedName } from '../names/resolver.ts';
import type { WatchedSource } from '../names/sources.ts';
import type { ControlEvent, UpstreamPatch } from '../types.ts';
import type { Drain } from './drains.ts';
import type { Member, Pool } from './pool.ts';
import { slotAddress } from './slots.ts';
import { shortHash } from './status.ts';

/** An event without its time. */
export type Happening = Omit<ControlEvent, 'at'>;

export function verdictChanged({ subject, record }: RunningCheck, { from, to, result }: Transition): Happening {
  const address = slotAddress(subject.target.host, subject.target.port, subject.member.network);
  const fields = { address, upstream: subject.member.upstream, check: describeCheck(subject.spec), from };
  if (to === 'up') {
    const passes = record.status().consecutivePasses;
    return { type: 'server-up', message: `${address} is up`, fields: { ...fields, passes } };
  }
  const { cause, remedy } = explainReason(result.reason);
  return {
    type: 'server-down',
    message: `${address} is down: ${result.reason}: ${result.detail}`,
    fields: {
      ...fields,
      fails: record.status().consecutiveFails,
      reason: result.reason,
      detail: result.detail,
      status: result.status,
      cause,
      remedy,
    },
  };
}

/** Members that a message about a pool names. */
const MAX_NAMES = 3;

export function bestEffortChanged(pool: Pool): Happening {
  const fields = { pool: shortHash(pool.spec.hash), members: pool.members.length };
  if (pool.mode === 'best-effort') {
    return {
      type: 'best-effort-entered',
      message: `all members of pool ${fields.pool} (${namesOf(pool)}) are down: all are tried`,
      fields,
    };
  }
  const message = `pool ${fields.pool} (${namesOf(pool)}) no longer tries members that are down`;
  return { type: 'best-effort-left', message, fields };
}

/** Nobody knows a pool by its hash. */
function namesOf({ members }: Pool): string {
  const shown = members.slice(0, MAX_NAMES).map(({ spec }) => spec.upstream);
  const more = members.length - shown.length;
  return more === 0 ? shown.join(', ') : `${shown.join(', ')} and ${more} more`;
}

export function nameChanged(name: WatchedName, before: readonly string[], after: readonly string[]): Happening {
  const was = before.length === 0 ? 'did not resolve' : `was ${before.join(', ')}`;
  return {
    type: 'name-changed',
    message: `${name.host} is now ${after.join(', ')} (it ${was})`,
    fields: { name: name.host, before: before.join(','), after: after.join(',') },
  };
}

/** `before`: the members it had. */
export function membersChanged(pool: Pool, before: readonly string[]): Happening {
  const id = shortHash(pool.spec.hash);
  const after = pool.members.map(({ spec }) => spec.upstream);
  return {
    type: 'name-changed',
    message: `pool ${id} now consists of ${shortList(after)} (it was ${shortList(before)})`,
    fields: { pool: id, before: before.join(','), after: after.join(',') },
  };
}

export function sourceFailed({ spec, watch }: WatchedSource, error: string): Happening {
  const last = `its last answer: ${shortList(watch.upstreams)}`;
  return {
    type: 'name-failed',
    message: `dynamic ${spec.kind} ${spec.name} does not resolve (${error}); ${last}`,
    fields: { name: spec.name, error, last: watch.upstreams.join(',') },
  };
}

function shortList(texts: readonly string[]): string {
  const shown = texts.slice(0, 10).join(', ');
  if (texts.length === 0) return 'nothing';
  return texts.length > 10 ? `${shown} and ${texts.length - 10} more` : shown;
}

export function nameFailed(name: WatchedName, error: string): Happening {
  const kept = name.addresses();
  const consequence = kept.length === 0 ? 'its upstreams are down' : `its last answer is kept: ${kept.join(', ')}`;
  return {
    type: 'name-failed',
    message: `${name.host} does not resolve (${error}); ${consequence}`,
    fields: { name: name.host, error, kept: kept.join(',') },
  };
}

export function adminChanged(address: string, { adminState, weight, drainMs }: UpstreamPatch): Happening {
  const said = [
    ...(adminState === undefined ? [] : [`admin state ${adminState}`]),
    ...(drainMs === undefined ? [] : [`drain deadline in ${drainMs} ms`]),
    ...(weight === undefined ? [] : [`weight ${weight}`]),
  ];
  return {
    type: 'admin-state',
    message: `${address}: ${said.join(', ')}`,
    fields: {
      address,
      ...(adminState === undefined ? {} : { adminState }),
      ...(drainMs === undefined ? {} : { drainMs }),
      ...(weight === undefined ? {} : { weight }),
    },
  };
}

export function drainEnded(address: string): Happening {
  return {
    type: 'admin-state',
    message: `${address}: the drain deadline has passed, what still ran is ended`,
    fields: { address, adminState: 'drain', expired: true },
  };
}

const LEAVING: Readonly<Record<Drain['cause'], string>> = {
  down: 'it is down',
  operator: 'the operator drains it',
  removed: 'the config does not name it any more',
};

/** The `drain` of its pool ends what runs. */
export function drainPassed(drain: Drain): Happening {
  const { drainMs = 0 } = drain.member.pool.spec;
  const time = drainMs === 0 ? 'at once (drain immediate)' : `after ${drainMs} ms (drain)`;
  return {
    type: 'drain-passed',
    message: `${drain.slot.address}: what still runs is ended ${time}, because ${LEAVING[drain.cause]}`,
    fields: drainFields(drain),
  };
}

export function drainFinished(drain: Drain): Happening {
  return {
    type: 'drain-finished',
    message: `${drain.slot.address}: nothing runs on it any more; ${LEAVING[drain.cause]}`,
    fields: drainFields(drain),
  };
}

function drainFields({ member, slot, cause }: Drain): Happening['fields'] {
  return { address: slot.address, upstream: member.spec.upstream, pool: shortHash(member.pool.spec.hash), cause };
}

/** `fails`: what was counted. */
export function struck(member: Member, fails: number): Happening {
  const { upstream } = member.spec;
  const pool = shortHash(member.pool.spec.hash);
  const kept = member.pool.mode === 'struck' ? '; it stays in use, because no other is left' : '';
  return {
    type: 'upstream-struck',
    message: `${upstream} failed its passive checks (${fails} ${fails === 1 ? 'failure' : 'failures'})${kept}`,
    fields: { upstream, pool, fails, kept: kept !== '' },
  };
}

export function recovered(member: Member): Happening {
  const { upstream } = member.spec;
  const pool = shortHash(member.pool.spec.hash);
  return { type: 'upstream-recovered', message: `${upstream} answers again`, fields: { upstream, pool } };
}
