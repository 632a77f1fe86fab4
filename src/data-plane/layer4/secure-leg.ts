/**
 * A server behind TLS: TCP, the PROXY header in the clear, then the handshake. Until that is done all that goes wrong is
 * a dial that failed, because no byte of the client's has been sent.
 */
import { Socket } from 'node:net';
import type { TLSSocket } from 'node:tls';
import { dialOptions, joinHostPort } from '../../shared/net/address.ts';
import { resetSocket } from '../../shared/net/reset.ts';
import { describeTlsFault, startHandshake } from '../../shared/net/upstream-tls.ts';
import type { EndpointPlan } from '../../shared/plan/types.ts';
import type { UpstreamTlsPlan } from '../../shared/plan/upstream-tls.ts';
import type { Leg } from '../pool/leg.ts';
import type { TunnelEnd } from '../proxy/sides.ts';
import { KEEP_ALIVE_PROBE_MS, TcpLeg, type UpstreamLeg, type UpstreamLegOwner } from './tcp-leg.ts';
import type { Layer4World } from './world.ts';

export interface SecureLegOwner extends UpstreamLegOwner {
  /** TCP is connected: from now on the handshake has this time; 0 = what is left of the dial's. */
  onHandshake(timeoutMs: number): void;
}

export class SecureUpstreamLeg extends TcpLeg implements UpstreamLeg {
  readonly slot: number;
  connected = false;
  protected socket: Socket;
  readonly #owner: SecureLegOwner;
  readonly #world: Pick<Layer4World, 'upstreamTls' | 'legFailed'>;
  readonly #way: Leg;
  readonly #raw: Socket;
  readonly #where: string;
  /** Of sessions that may be resumed. */
  readonly #key: string;
  #tls: TLSSocket | null = null;
  #errorCode = '';
  readonly #onHandshakeError = (error: NodeJS.ErrnoException): void => this.onError(error);

  constructor(
    world: Pick<Layer4World, 'upstreamTls' | 'legFailed'>,
    endpoint: EndpointPlan,
    localAddress: string | undefined,
    way: Leg,
    header: Buffer | null,
    owner: SecureLegOwner,
    sink: TunnelEnd,
  ) {
    super(owner, sink);
    this.#world = world;
    this.#owner = owner;
    this.#way = way;
    this.slot = endpoint.slot;
    this.#where = joinHostPort(endpoint.host, endpoint.port);
    this.#key = `layer4 ${endpoint.slot} ${way.key}`;
    this.#raw = new Socket({ allowHalfOpen: true });
    this.socket = this.#raw;
    this.#raw.setNoDelay(true);
    this.#raw.setKeepAlive(true, KEEP_ALIVE_PROBE_MS);
    this.#raw.on('error', (error: NodeJS.ErrnoException) => this.#note(error));
    this.#raw.on('close', () => this.#onRawClosed());
    this.#raw.on('connect', () => this.#onConnect(header));
    this.#raw.connect({
      ...dialOptions(endpoint.host, endpoint.port),
      ...(localAddress === undefined ? {} : { localAddress }),
      autoSelectFamily: false,
    });
  }

  override close(): void {
    this.#tls?.destroy();
    this.#raw.destroy();
  }

  override reset(): void {
    // A reset of a socket that is still connecting would wait for the connection.
    if (this.connected) resetSocket(this.socket, this.#raw);
    else this.close();
  }

  #onConnect(header: Buffer | null): void {
    const plan = this.#way.tls!;
    this.#owner.onHandshake(plan.handshakeTimeoutMs);
    if (header !== null) this.#raw.write(header);
    const tls = this.#startTls(plan);
    this.#tls = tls;
    tls.on('error', this.#onHandshakeError);
    tls.on('session', (session) => this.#world.upstreamTls.keepSession(this.#key, session));
    tls.once('secureConnect', () => this.#onSecure(tls));
  }

  #startTls(plan: UpstreamTlsPlan): TLSSocket {
    const { upstreamTls } = this.#world;
    return startHandshake(this.#raw, {
      verify: plan.verify,
      serverName: this.#way.serverName,
      context: upstreamTls.contextOf(plan),
      alpn: [],
      session: upstreamTls.sessionFor(this.#key),
    });
  }

  #onSecure(tls: TLSSocket): void {
    this.socket = tls;
    this.connected = true;
    this.watch();
    tls.off('error', this.#onHandshakeError);
    tls.on('data', (chunk: Buffer) => this.take(chunk, chunk.length, true));
    this.#owner.onDialled(this);
  }

  /** Also after the handshake: by TLS 1.3 a server refuses a client's certificate only then. */
  protected override onError(error: NodeJS.ErrnoException): void {
    this.#note(error);
    if (!this.connected || error.code?.startsWith('ERR_SSL') === true) {
      this.#world.upstreamTls.forgetSession(this.#key);
      this.#world.legFailed(this.slot, describeTlsFault(error, this.#where, this.#way.serverName));
    }
    if (!this.connected) this.#raw.destroy();
  }

  #note(error: NodeJS.ErrnoException): void {
    this.#errorCode ||= error.code ?? error.message;
  }

  /** The end of a connection that was made is told by its TLS. */
  #onRawClosed(): void {
    if (this.connected) return;
    this.closed = true;
    this.#tls?.destroy();
    this.#owner.onDialFailed(this, this.#errorCode === '' ? 'ECONNABORTED' : this.#errorCode);
    this.onClosed(false);
  }
}
