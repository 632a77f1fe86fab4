/**
 * The real worker with two faults to be called for: a request line (or a datagram) with `/throw` throws at the
 * top of the thread, one with `/hang` never gives the event loop back.
 */
import type { Socket as UdpSocket } from 'node:dgram';
import type { Socket } from 'node:net';
import { readProcessFacts } from '../../src/data-plane/process-facts.ts';
import { Runtime } from '../../src/data-plane/runtime.ts';
import { runWorker } from '../../src/data-plane/worker-thread.ts';

class FaultyRuntime extends Runtime {
  override accept(listenerKey: string, socket: Socket): void {
    socket.on('data', fail);
    super.accept(listenerKey, socket);
  }

  override listenUdp(listenerKey: string, socket: UdpSocket): void {
    socket.on('message', fail);
    super.listenUdp(listenerKey, socket);
  }
}

function fail(chunk: Buffer): void {
  const text = chunk.toString('latin1');
  if (text.includes(' /throw ')) throw new Error('thrown on request');
  // A thread that hangs is the point of this path.
  if (text.includes(' /hang ')) for (;;);
}

const facts = readProcessFacts();

runWorker((deps) => new FaultyRuntime(deps, facts));
