/** What people are shown of pools and their members. Reads only. */
import {
  FACT_BROKEN,
  FACT_DIAL_FAILURES,
  FACT_INVALID_RESPONSES,
  FACT_IN_FLIGHT,
  FACT_REQUESTS,
  FACT_TIMEOUTS,
  FACT_WAITING,
} from '../../shared/state-table/layout.ts';
import { rememberedFails } from '../../shared/state-table/passive-fails.ts';
import type { StateTable } from '../../shared/state-table/table.ts';
import type { EndpointStatus, UpstreamStatus } from '../types.ts';
import type { EffectiveAdmin } from './admin-states.ts';
import type { Drain } from './drains.ts';
import type { Standing } from './member-state.ts';
import type { Endpoint, Member } from './pool.ts';
import type { Slot } from './slots.ts';

const SHORT_HASH_DIGITS = 12;
const FAILURES: readonly number[] = [FACT_DIAL_FAILURES, FACT_BROKEN, FACT_INVALID_RESPONSES, FACT_TIMEOUTS];
const STATES: Readonly<Record<Standing, UpstreamStatus['state']>> = {
  eligible: 'up',
  initial: 'initial',
  drain: 'drain',
  maint: 'maint',
  down: 'down',
  out: 'down',
  struck: 'struck',
  'half-open': 'struck',
  ejected: 'struck',
};

export type AdminOf = (slot: Slot) => EffectiveAdmin;
/** Of the member that is shown. */
export type DrainOf = (slot: Slot) => Drain | undefined;

export function memberStatus(
  member: Member,
  table: StateTable,
  adminOf: AdminOf,
  drainOf: DrainOf,
  wallMs: number,
): UpstreamStatus {
  const { pool } = member;
  const { passive } = pool.spec.section;
  const endpoints = member.endpoints.map((endpoint) => endpointStatus(endpoint, table, adminOf, drainOf));
  const isRemoved = member.endpoints.some(({ slot }) => drainOf(slot)?.cause === 'removed');
  return {
    layer: pool.spec.layer ?? 'http',
    upstream: member.spec.upstream,
    pool: shortHash(pool.spec.hash),
    policy: pool.spec.section.policy.policy,
    position: member.position,
    poolSize: pool.members.length,
    weight: member.weight,
    state: isRemoved ? 'drain' : STATES[member.standing],
    why: isRemoved ? 'The config does not name it any more; what runs on it goes on.' : whyNotUp(member, adminOf),
    bestEffort: pool.mode === 'best-effort',
    ...(passive === null
      ? {}
      : { passiveFails: rememberedFails(table.members, member.row, passive.failDurationMs, wallMs) }),
    ...limitOf(member, table),
    ...(member.spec.backup === true ? { backup: true } : {}),
    ...(member.spec.template === undefined ? {} : { template: member.spec.template }),
    inFlight: endpoints.reduce((sum, endpoint) => sum + endpoint.inFlight, 0),
    endpoints,
  };
}

function limitOf({ spec, endpoints }: Member, table: StateTable): Pick<UpstreamStatus, 'maxRequests' | 'waiting'> {
  if (spec.maxRequests === undefined) return {};
  const waiting = endpoints.reduce((sum, { slot }) => sum + table.sumFacts(slot.row, FACT_WAITING), 0);
  return { maxRequests: spec.maxRequests, waiting };
}

export function shortHash(hash: string): string {
  return hash.slice(0, SHORT_HASH_DIGITS);
}

function endpointStatus(
  { slot, check }: Endpoint,
  table: StateTable,
  adminOf: AdminOf,
  drainOf: DrainOf,
): EndpointStatus {
  const admin = adminOf(slot);
  return {
    address: slot.address,
    adminState: admin.state,
    drainDeadline: admin.deadline === 0 ? (drainOf(slot)?.deadline ?? 0) : admin.deadline,
    inFlight: table.sumFacts(slot.row, FACT_IN_FLIGHT),
    requestsTotal: table.sumFactTotals(slot.row, FACT_REQUESTS),
    failuresTotal: FAILURES.reduce((sum, word) => sum + table.sumFactTotals(slot.row, word), 0),
    checks: check === null ? [] : [check.record.status()],
  };
}

/** One sentence; '' for a member that is up. */
function whyNotUp(member: Member, adminOf: AdminOf): string {
  switch (member.standing) {
    case 'eligible':
      return member.spec.backup === true && member.pool.standBy
        ? 'A backup: new clients come only while no other upstream may have them.'
        : '';
    case 'initial':
      return 'No check of it has passed since it was added; it gets work only while no other member is up.';
    case 'drain':
      return member.weight === 0
        ? 'Its weight is 0: new clients go elsewhere.'
        : 'The operator drains it: new clients go elsewhere.';
    case 'maint':
      return whyClosed(member, adminOf);
    case 'struck':
      return 'Requests to it failed; it is left alone for fail_duration.';
    case 'half-open':
      return 'Requests to it failed; the next one that is picked for it tests it.';
    case 'ejected':
      return 'Requests to it failed, and so did the test after fail_duration.';
    case 'down':
    case 'out':
      return whyDown(member);
  }
}

function whyClosed({ endpoints }: Member, adminOf: AdminOf): string {
  const said = endpoints.map(({ slot }) => adminOf(slot).state);
  if (said.includes('drain')) return 'The operator drained it, and the drain deadline has passed.';
  return said.includes('maint')
    ? 'The operator put it into maintenance.'
    : 'Its weight is 0, and the drain deadline has passed.';
}

function whyDown(member: Member): string {
  if (member.endpoints.length === 0) {
    const error = member.name.error();
    return `The name ${member.name.host} does not resolve${error === '' ? '' : ` (${error})`}.`;
  }
  const failures = member.endpoints.map(({ slot, check }) => {
    const failure = check?.record.verdict === 'down' ? check.record.lastFailure : null;
    return failure === null ? '' : `${slot.address}: ${failure.reason}: ${failure.detail}`;
  });
  const told = failures.filter((text) => text !== '').join('; ');
  return told === '' ? 'No check of it has passed yet.' : `${told}.`;
}
