/** A connection after its 101: the tunnel between both sides, under its limits, and what it counts in the end. */
import { FACT_BYTES_SENT, SERVER_BYTES_IN } from '../../shared/state-table/layout.ts';
import type { CompiledStreams } from '../route/decision.ts';
import type { World } from '../world.ts';
import type { ClientSide, UpstreamSide } from './sides.ts';
import { limitTunnel, type LimitedStream } from './streams.ts';
import { Tunnel } from './tunnel.ts';

export interface Upgrade {
  readonly client: ClientSide;
  readonly upstream: UpstreamSide;
  /** Lower case. */
  readonly protocol: string;
  /** Complete the 101, fields of the connection included. */
  readonly lines: string;
  /** null = none. */
  readonly limits: CompiledStreams | null;
  /** Bytes that may wait for either side besides what its socket takes. */
  readonly bufferBytes: number;
  readonly slot: number;
  readonly serverRow: number;
}

/** `onEnd` runs once, with the bytes the client got. What is returned can end it in an orderly way; null = nothing can. */
export function beginTunnel(world: World, upgrade: Upgrade, onEnd: (sentBytes: number) => void): LimitedStream | null {
  const { client, upstream, slot, serverRow } = upgrade;
  const finish = (): void => {
    stream?.end();
    world.servers.count(serverRow, SERVER_BYTES_IN, tunnel.fromClient.bytes);
    world.facts.count(slot, FACT_BYTES_SENT, tunnel.fromClient.bytes);
    world.tunnelEnded();
    onEnd(tunnel.fromUpstream.bytes);
  };
  const tunnel = new Tunnel(client, upstream, finish, upgrade.bufferBytes);
  const stream = limitTunnel(world, upgrade.limits, tunnel, upgrade.protocol);
  world.tunnelStarted();
  upstream.beginTunnel(tunnel.fromUpstream);
  client.beginTunnel(upgrade.lines, tunnel.fromClient);
  return stream;
}
