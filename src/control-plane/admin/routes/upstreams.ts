import { z } from 'zod';
import { parseDuration } from '../../config/schema/duration.ts';
import type { CheckStatus, ControlPlane, EndpointStatus, UpstreamPatch, UpstreamStatus } from '../../types.ts';
import { parseJson, requireJson } from '../body.ts';
import { decodePart } from '../config-tree.ts';
import type { AdminContext } from '../context.ts';
import { AdminError, jsonListReply, jsonReply, type AdminReply, type AdminRequest, type Route } from '../exchange.ts';

/**
 * `GET /upstreams`: every upstream of every pool, with every verdict and its reason.
 * `PATCH /upstreams/<address>`: admin state and weight; `<address>` is an `ip:port` or a configured text.
 */
export function upstreamsRoute(context: AdminContext): Route {
  return {
    path: '/upstreams',
    subtree: true,
    methods: {
      GET: (request) => listUpstreams(context, request),
      PATCH: (request) => patchUpstream(context, request),
    },
  };
}

async function listUpstreams({ plane }: AdminContext, request: AdminRequest): Promise<AdminReply> {
  const address = decodePart(request.rest.slice(1));
  if (address === '') return jsonListReply(shownUpstreams(plane));
  const found = await namedUpstreams(plane, address);
  if (found.length === 0) throw unknownAddress(address);
  return jsonReply(found);
}

async function* shownUpstreams(plane: ControlPlane): AsyncGenerator<Record<string, unknown>> {
  for await (const status of plane.eachUpstream()) yield showUpstream(status);
}

async function namedUpstreams(plane: ControlPlane, address: string): Promise<Record<string, unknown>[]> {
  const found: Record<string, unknown>[] = [];
  for await (const status of plane.eachUpstream()) if (isNamed(status, address)) found.push(showUpstream(status));
  return found;
}

const PATCH_BODY = z.strictObject({
  admin_state: z.enum(['ready', 'drain', 'maint']).optional(),
  weight: z.int().min(0).max(65_535).optional(),
  drain: z.string().optional(),
});

async function patchUpstream({ plane, log }: AdminContext, request: AdminRequest): Promise<AdminReply> {
  requireJson(request.header('content-type'));
  const address = decodePart(request.rest.slice(1));
  if (address === '') throw new AdminError(400, 'no address: PATCH /upstreams/<address>');
  const patch = readPatch(parseJson(await request.body()));
  if (!plane.patchUpstream(address, patch)) throw unknownAddress(address);
  log.info('upstream changed through the admin API', { address, ...patch });
  return jsonReply(await namedUpstreams(plane, address));
}

function readPatch(json: unknown): UpstreamPatch {
  const parsed = PATCH_BODY.safeParse(json);
  if (!parsed.success) throw new AdminError(400, `invalid change: ${parsed.error.issues.map(issueText).join('; ')}`);
  const { admin_state: adminState, weight, drain } = parsed.data;
  if (adminState === undefined && weight === undefined) {
    throw new AdminError(400, 'nothing to change: give "admin_state" (ready, drain, maint) or "weight"');
  }
  if (drain !== undefined && adminState !== 'drain') throw new AdminError(400, '"drain" needs "admin_state": "drain"');
  return {
    ...(adminState === undefined ? {} : { adminState }),
    ...(weight === undefined ? {} : { weight }),
    ...(drain === undefined ? {} : { drainMs: readDrain(drain) }),
  };
}

function issueText({ path, message }: z.core.$ZodIssue): string {
  return path.length === 0 ? message : `${path.join('.')}: ${message}`;
}

function readDrain(text: string): number {
  const ms = parseDuration(text);
  if (ms === undefined || ms < 0)
    throw new AdminError(400, `invalid "drain" ${JSON.stringify(text)}: give a duration such as "30s"`);
  return ms;
}

function unknownAddress(address: string): AdminError {
  return new AdminError(404, `no upstream ${JSON.stringify(address)} in the config: GET /upstreams lists them`);
}

function isNamed(status: UpstreamStatus, address: string): boolean {
  return status.upstream === address || status.endpoints.some((endpoint) => endpoint.address === address);
}

function showUpstream(status: UpstreamStatus): Record<string, unknown> {
  return {
    layer: status.layer,
    upstream: status.upstream,
    pool: status.pool,
    policy: status.policy,
    position: status.position,
    pool_size: status.poolSize,
    weight: status.weight,
    state: status.state,
    why: status.why,
    best_effort: status.bestEffort,
    ...(status.passiveFails === undefined ? {} : { passive_fails: status.passiveFails }),
    backup: status.backup ?? false,
    ...(status.template === undefined ? {} : { template: status.template }),
    max_requests: status.maxRequests ?? null,
    waiting: status.waiting ?? 0,
    in_flight: status.inFlight,
    endpoints: status.endpoints.map(showEndpoint),
  };
}

function showEndpoint(endpoint: EndpointStatus): Record<string, unknown> {
  return {
    address: endpoint.address,
    admin_state: endpoint.adminState,
    drain_deadline: endpoint.drainDeadline === 0 ? null : new Date(endpoint.drainDeadline).toISOString(),
    in_flight: endpoint.inFlight,
    requests_total: endpoint.requestsTotal,
    failures_total: endpoint.failuresTotal,
    checks: endpoint.checks.map(showCheck),
  };
}

function showCheck(check: CheckStatus): Record<string, unknown> {
  return {
    name: check.name,
    verdict: check.verdict,
    reason: check.reason,
    cause: check.cause,
    remedy: check.remedy,
    consecutive_passes: check.consecutivePasses,
    consecutive_fails: check.consecutiveFails,
    round_trip_ms: roundedMs(check.roundTripMs),
    jitter_ms: roundedMs(check.jitterMs),
    loss: Math.round(check.loss * 10_000) / 10_000,
    results: check.results.map((result) => ({
      at: new Date(result.at).toISOString(),
      outcome: result.outcome,
      reason: result.reason,
      detail: result.detail,
      round_trip_ms: roundedMs(result.roundTripMs),
      local_address: result.localAddress,
      status: result.status,
      body: result.body,
      ...(result.burst === undefined ? {} : { sent: result.burst.sent, lost: result.burst.lost }),
    })),
  };
}

function roundedMs(ms: number | null): number | null {
  return ms === null ? null : Math.round(ms * 1000) / 1000;
}
