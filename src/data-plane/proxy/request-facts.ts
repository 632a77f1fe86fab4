/** What a request is: facts for matchers, placeholders and policies, worked out once or on first use. */
import { randomUUID } from 'node:crypto';
import type { IpAddress } from '../../shared/net/ip.ts';
import type { Random } from '../../shared/random.ts';
import { deriveClient, isTrustedPeer } from '../client-ip/derive.ts';
import { forwardedProto, isSecureScheme } from '../client-ip/forwarded.ts';
import { FIELD_COOKIE, FIELD_X_FORWARDED_PROTO, type Head } from '../http1/head.ts';
import type { RequestNotes } from '../route/notes.ts';
import type { RequestView } from '../route/request-view.ts';
import { queryValues } from '../route/query.ts';
import { hostOfAuthority } from '../route/target.ts';
import type { Affinity, PickRequest, StickyAction } from '../select/policy.ts';
import type { HttpServer } from '../server.ts';
import type { TlsFacts } from '../route/tls-facts.ts';
import type { World } from '../world.ts';

/** What is known of the client's connection. */
export interface ConnectionFacts {
  readonly peer: IpAddress | null;
  readonly peerPort: number;
  readonly localAddress: string;
  readonly localPort: number;
  /** null, absent = it came in the clear. */
  readonly tls?: TlsFacts | null;
}

const NONE_TRIED: readonly number[] = Object.freeze([]);

export abstract class RequestFacts implements RequestView, PickRequest {
  readonly head: Head;
  method: string;
  target: string;
  hostport: string;
  host: string;
  /** As it came: `request_header Host` moves no request to the access log of another site. */
  readonly receivedHost: string;
  readonly scheme: 'http' | 'https';
  readonly tls: TlsFacts | null;
  readonly peer: IpAddress | null;
  readonly client: IpAddress | null;
  readonly trusted: boolean;
  readonly random: Random;
  readonly wallMs: number;

  notes: RequestNotes | null = null;
  tried: readonly number[] = NONE_TRIED;
  affinity: Affinity = '';
  readonly flow = null;
  stickyPosition = -1;
  stickyAction: StickyAction = 'keep';
  spilledFrom = -1;
  /** The rule that its body breaks, a word of `http1/errors.ts`; ''. */
  fault = '';

  readonly #connection: ConnectionFacts;
  #vars: Map<string, string> | null = null;
  #uuid = '';

  constructor(
    world: Pick<World, 'clock' | 'random'>,
    connection: ConnectionFacts,
    server: Pick<HttpServer, 'trusted' | 'clientIpList'>,
    head: Head,
  ) {
    this.#connection = connection;
    this.tls = connection.tls ?? null;
    this.scheme = this.tls === null ? 'http' : 'https';
    this.wallMs = world.clock.wall();
    this.random = world.random;
    this.head = head;
    this.method = head.method;
    this.target = head.originForm;
    this.hostport = head.authority;
    this.host = hostOfAuthority(head.authority);
    this.receivedHost = this.host;
    this.peer = connection.peer;
    this.trusted = isTrustedPeer(this.peer, server.trusted);
    this.client = this.trusted ? deriveClient(this.peer, server.trusted, server.clientIpList(head)) : this.peer;
  }

  get peerPort(): number {
    return this.#connection.peerPort;
  }

  get localAddress(): string {
    return this.#connection.localAddress;
  }

  get localPort(): number {
    return this.#connection.localPort;
  }

  get cookies(): string {
    return this.head.joined(FIELD_COOKIE, '; ');
  }

  headerValue(name: string): string {
    return name === 'host' ? this.hostport : (this.head.find(name) ?? '');
  }

  queryValue(key: string): string {
    const mark = this.target.indexOf('?');
    return mark < 0 ? '' : queryValues(this.target.slice(mark + 1), key).join(',');
  }

  /** The client's side is TLS: our own, or said to be by a proxy that is believed. */
  get secure(): boolean {
    const believed = this.believesPeer();
    const prior = believed ? this.head.joined(FIELD_X_FORWARDED_PROTO, ', ') : '';
    return isSecureScheme(forwardedProto(believed, prior, this.scheme === 'https'));
  }

  get vars(): Map<string, string> {
    this.#vars ??= new Map();
    return this.#vars;
  }

  /** A `vars` handler said that this request leaves no access line. */
  get logSkipped(): boolean {
    return this.#vars !== null && this.#vars.get('log_skip') === 'true';
  }

  uuid(): string {
    if (this.#uuid === '') this.#uuid = randomUUID();
    return this.#uuid;
  }

  /** As if no upstream had been picked: another handler picks. */
  forgetPicks(): void {
    this.tried = NONE_TRIED;
    this.affinity = '';
    this.stickyPosition = -1;
    this.stickyAction = 'keep';
    this.spilledFrom = -1;
  }

  forgetTried(): void {
    this.tried = NONE_TRIED;
  }

  abstract proxyValue(name: string): string | undefined;

  /** What the peer says in X-Forwarded-* counts: for the whole server, or for the handler that proxies. */
  protected abstract believesPeer(): boolean;
}
