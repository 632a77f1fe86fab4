import type { AccessRecord } from '../access-log.ts';
import type { RequestFacts } from './request-facts.ts';
import type { Tries } from './tries.ts';

/** What an access line tells of an exchange that is over. */
export function accessRecord(
  request: RequestFacts,
  tries: Tries | null,
  status: number,
  bytes: number,
  durationMs: number,
): AccessRecord {
  return {
    wallMs: request.wallMs,
    client: request.client?.text ?? '',
    peer: request.peer?.text ?? '',
    method: request.method,
    host: request.host,
    target: request.target,
    status,
    bytes,
    durationMs,
    upstream: tries?.upstream ?? '',
    attempts: tries?.attempts ?? 0,
    affinity: request.affinity,
  };
}
