/** What becomes of a request head that is refused: nothing of it reaches an upstream. */
import type { Socket } from 'node:net';
import { SERVER_BAD_REQUESTS, SERVER_LIMITS, SERVER_RESPONSES } from '../../shared/state-table/layout.ts';
import type { HttpServer } from '../server.ts';
import type { World } from '../world.ts';
import { errorText, type ErrorText } from '../proxy/error-response.ts';
import type { ConnectionFacts } from '../proxy/request-facts.ts';
import { hostOfAuthority } from '../route/target.ts';
import { describeRule, faultName } from './errors.ts';
import { protocolName, type Head } from './head.ts';
import { limitOfHead } from './limit-hits.ts';
import { reasonOf } from './reasons.ts';

export interface Refusal {
  readonly status: number;
  /** ERROR_*; 0 = the head is none that breaks a rule: it did not come in time, or came to the wrong connection. */
  readonly fault: number;
  /** null = it was not understood. */
  readonly head: Head | null;
}

/** Counts it, writes its access line and its answer, the last on this connection. */
export function refuseRequest(
  world: World,
  server: HttpServer,
  client: Pick<ConnectionFacts, 'peer' | 'tls'>,
  socket: Socket,
  refusal: Refusal,
): void {
  const { status } = refusal;
  const { lines, body } = answerRefusal(world, server, client, refusal);
  socket.write(`HTTP/1.1 ${status} ${reasonOf(status)}\r\n${lines}Connection: close\r\n\r\n${body}`, 'latin1');
}

/** The same for a connection that goes on: the answer is the caller's to write. */
export function answerRefusal(
  world: World,
  server: HttpServer,
  client: Pick<ConnectionFacts, 'peer' | 'tls'>,
  refusal: Refusal,
): ErrorText {
  const { status, fault } = refusal;
  const { row } = server;
  world.servers.count(row, SERVER_RESPONSES + Math.floor(status / 100) - 1, 1);
  world.servers.count(row, SERVER_BAD_REQUESTS, 1);
  countLimit(world, row, limitOfHead(status, fault));
  const answer = errorText(status, world.clock.wall(), fault === 0 ? '' : describeRule(fault));
  writeRefusalLines(world, server, client, refusal, answer.body.length);
  return answer;
}

/** What a client sent that is not understood goes into no log: it may be anything. */
function writeRefusalLines(
  world: World,
  server: HttpServer,
  { peer, tls = null }: Pick<ConnectionFacts, 'peer' | 'tls'>,
  { status, fault, head }: Refusal,
  bytes: number,
): void {
  const host = head === null ? '' : hostOfAuthority(head.authority);
  const outputs = server.accessOutputs(host);
  if (outputs.length === 0) return;
  const address = peer?.text ?? '';
  const record = {
    ...{ wallMs: world.clock.wall(), client: address, peer: address, host, status, bytes },
    ...{ method: head?.method ?? '', target: head?.originForm ?? '', durationMs: 0 },
    ...{ proto: head === null ? '' : protocolName(head.version) },
    ...{ upstream: '', attempts: 0, affinity: '' as const, tls, user: '', fault: fault === 0 ? '' : faultName(fault) },
  };
  for (const output of outputs) world.accessLog.write(output, record);
}

/** −1 = no limit was hit. */
export function countLimit(world: World, row: number, limit: number): void {
  if (limit >= 0) world.servers.count(row, SERVER_LIMITS + limit, 1);
}
