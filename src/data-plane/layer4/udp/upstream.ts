/** The upstream's side of a session: one socket, connected to one endpoint. */
import type { Socket } from 'node:dgram';
import type { EndpointPlan } from '../../../shared/plan/types.ts';
import {
  FACT_BYTES_RECEIVED,
  FACT_BYTES_SENT,
  FACT_CONNECTIONS,
  FACT_DIAL_FAILURES,
  FACT_DIALS,
} from '../../../shared/state-table/layout.ts';
import type { Rows } from '../../../shared/state-table/table.ts';
import { codeOf, connectDatagrams } from './sockets.ts';

/** The kernel's default holds about 250 small datagrams; a server may answer with a longer burst. */
const RECEIVE_BUFFER_BYTES = 1_048_576;
/** Datagrams the kernel has not taken yet; more are dropped, as it would do itself. */
export const MAX_UNSENT = 256;

export interface UpstreamUser {
  onAnswer(data: Buffer): void;
  /** Nobody listens there (ICMP port unreachable). The socket stays usable. */
  onRefused(): void;
  /** A datagram to the upstream was lost on the way out. */
  onLost(): void;
}

export class UdpUpstream {
  readonly endpoint: EndpointPlan;
  readonly #facts: Rows;
  readonly #user: UpstreamUser;
  readonly #socket: Socket;
  #unsent = 0;
  #closed = false;
  readonly #onSent = (error: Error | null): void => {
    this.#unsent -= 1;
    if (error !== null && error !== undefined) this.#failed(error, true);
  };

  /** Throws what the system says when there is no socket to be had. */
  constructor(endpoint: EndpointPlan, localAddress: string | undefined, facts: Rows, user: UpstreamUser) {
    this.endpoint = endpoint;
    this.#facts = facts;
    this.#user = user;
    facts.count(endpoint.slot, FACT_DIALS, 1);
    const { host, port } = endpoint;
    this.#socket = connectDatagrams({ host, port, localAddress, receiveBufferBytes: RECEIVE_BUFFER_BYTES });
    facts.add(endpoint.slot, FACT_CONNECTIONS, 1);
    this.#socket.on('error', (error) => this.#failed(error, false));
    this.#socket.on('message', (data, from) => {
      // Between bind and connect anybody could send to the port: the kernel does not look back.
      if (from.port === port) this.#received(data);
    });
  }

  /** One datagram, of one part or of two. */
  send(data: Buffer, header: Buffer | null): void {
    if (this.#closed) return;
    if (this.#unsent >= MAX_UNSENT) {
      this.#user.onLost();
      return;
    }
    this.#unsent += 1;
    this.#facts.count(this.endpoint.slot, FACT_BYTES_SENT, data.length);
    this.#socket.send(header === null ? data : [header, data], this.#onSent);
  }

  close(): void {
    if (this.#closed) return;
    this.#closed = true;
    this.#facts.add(this.endpoint.slot, FACT_CONNECTIONS, -1);
    this.#socket.close();
  }

  #received(data: Buffer): void {
    if (this.#closed) return;
    this.#facts.count(this.endpoint.slot, FACT_BYTES_RECEIVED, data.length);
    this.#user.onAnswer(data);
  }

  /** The kernel tells of a refusal with the next call on the socket, whichever that is. */
  #failed(error: Error, sending: boolean): void {
    if (this.#closed) return;
    if (codeOf(error) === 'ECONNREFUSED') {
      this.#facts.count(this.endpoint.slot, FACT_DIAL_FAILURES, 1);
      this.#user.onRefused();
    } else if (sending) {
      this.#user.onLost();
    }
  }
}
