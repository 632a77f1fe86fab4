/** What becomes of a request head that is refused: nothing of it reaches an upstream. */
import type { Socket } from 'node:net';
import { SERVER_BAD_REQUESTS, SERVER_LIMITS, SERVER_RESPONSES } from '../../shared/state-table/layout.ts';
import type { HttpServer } from '../server.ts';
import type { World } from '../world.ts';
import { errorText } from '../proxy/error-response.ts';
import { limitOfHead } from './limit-hits.ts';
import { reasonOf } from './reasons.ts';

/** Counts it and writes its answer, the last on this connection. `fault` is that of its parse, 0 = it was not parsed. */
export function refuseRequest(world: World, { row }: HttpServer, socket: Socket, status: number, fault: number): void {
  world.servers.count(row, SERVER_RESPONSES + Math.floor(status / 100) - 1, 1);
  world.servers.count(row, SERVER_BAD_REQUESTS, 1);
  countLimit(world, row, limitOfHead(status, fault));
  const { lines, body } = errorText(status, world.clock.wall());
  socket.write(`HTTP/1.1 ${status} ${reasonOf(status)}\r\n${lines}Connection: close\r\n\r\n${body}`, 'latin1');
}

/** −1 = no limit was hit. */
export function countLimit(world: World, row: number, limit: number): void {
  if (limit >= 0) world.servers.count(row, SERVER_LIMITS + limit, 1);
}
