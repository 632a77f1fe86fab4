import type { AccessRecord } from '../access-log.ts';
import { protocolName } from '../http1/head.ts';
import type { HttpServer } from '../server.ts';
import type { World } from '../world.ts';
import type { RequestFacts } from './request-facts.ts';
import type { Tries } from './tries.ts';

/** Where the server logs it; usually one output or none. */
export function writeAccessLines(
  world: World,
  server: HttpServer,
  request: RequestFacts,
  tries: Tries | null,
  status: number,
  bytes: number,
  durationMs: number,
): void {
  const outputs = server.accessOutputs(request.receivedHost);
  if (outputs.length === 0) return;
  const record = accessRecord(request, tries, status, bytes, durationMs);
  for (const output of outputs) world.accessLog.write(output, record);
}

/** What an access line tells of an exchange that is over. */
function accessRecord(
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
    proto: protocolName(request.head.version),
    status,
    bytes,
    durationMs,
    upstream: tries?.upstream ?? '',
    attempts: tries?.attempts ?? 0,
    affinity: request.affinity,
    tls: request.tls,
    user: request.notes?.user ?? '',
    fault: request.fault,
  };
}
