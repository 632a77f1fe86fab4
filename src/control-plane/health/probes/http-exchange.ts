import net, { type Socket } from 'node:net';
import { dialOptions } from '../../../shared/net/address.ts';
import { watchDeadline } from '../deadline.ts';
import type { ProbeDeps, ProbeTarget } from '../probe.ts';
import type { ReasonWord } from '../reasons.ts';
import { isLocalTrouble } from './local-trouble.ts';
import { ResponseReader } from './http-response.ts';

/**
 * An event loop behind by more than this, and by more than this share of the timeout, may have kept the
 * request from the server or the answer from us. Less explains no missing answer: a busy control plane
 * must not keep a hung server in service.
 */
const LATE_MS = 25;
const LATE_SHARE = 0.1;

export interface ExchangeRequest {
  readonly method: string;
  readonly bytes: Buffer;
  /** IP address the connection is made from; absent = any. */
  readonly localAddress?: string;
  readonly timeoutMs: number;
  readonly maxBodyBytes: number;
  /** Enough of the response is here to judge it. */
  readonly suffices: (response: ResponseReader) => boolean;
}

/** How an exchange ended. `reason` is '' when the response is whole, or as whole as was asked for. */
export interface ExchangeResult {
  readonly response: ResponseReader;
  readonly reason: ReasonWord | '';
  /** What went wrong, one clause. */
  readonly detail: string;
  readonly localAddress: string;
}

/** One request and its response over a connection of its own. Never rejects. */
export function exchange(target: ProbeTarget, request: ExchangeRequest, deps: ProbeDeps): Promise<ExchangeResult> {
  return new Promise((resolve) => new Exchange(target, request, deps, resolve));
}

class Exchange {
  readonly #target: ProbeTarget;
  readonly #request: ExchangeRequest;
  readonly #response: ResponseReader;
  readonly #socket: Socket;
  readonly #settle: (reason: ReasonWord | '', detail: string) => void;
  #localAddress = '';

  constructor(
    target: ProbeTarget,
    request: ExchangeRequest,
    deps: ProbeDeps,
    resolve: (result: ExchangeResult) => void,
  ) {
    this.#target = target;
    this.#request = request;
    this.#response = new ResponseReader(request.method, request.maxBodyBytes);
    this.#socket = net.connect({
      ...dialOptions(target.host, target.port),
      ...(request.localAddress === undefined ? {} : { localAddress: request.localAddress }),
    });
    const deadline = watchDeadline(deps.clock, request.timeoutMs, (lateMs) => this.#expire(lateMs));
    const cancel = (): void => this.#settle('LOCAL_TROUBLE', 'the check was cancelled');
    this.#settle = (reason, detail) => {
      deadline.cancel();
      deps.signal.removeEventListener('abort', cancel);
      this.#socket.destroy();
      resolve({ response: this.#response, reason, detail, localAddress: this.#localAddress });
    };
    deps.signal.addEventListener('abort', cancel);
    this.#listen();
    if (deps.signal.aborted) cancel();
  }

  #listen(): void {
    this.#socket.on('error', (error: NodeJS.ErrnoException) => this.#broken(error));
    this.#socket.once('connect', () => {
      this.#localAddress = `${this.#socket.localAddress ?? ''}:${this.#socket.localPort ?? 0}`;
      this.#socket.write(this.#request.bytes);
    });
    this.#socket.on('data', (bytes) => {
      this.#response.push(bytes);
      this.#look();
    });
    this.#socket.on('end', () => {
      this.#response.end();
      this.#look();
      this.#settle('CONNECT_INTERRUPT', `the connection was closed ${this.#progress()}`);
    });
  }

  #look(): void {
    if (this.#response.error !== '') {
      this.#settle('HTTP_INVALID_HEADER', `the answer is not a valid HTTP response: ${this.#response.error}`);
    } else if (this.#response.complete || this.#response.full || this.#request.suffices(this.#response)) {
      this.#settle('', '');
    }
  }

  #broken(error: NodeJS.ErrnoException): void {
    const code = error.code ?? error.message;
    const where = `${this.#target.host} port ${this.#target.port}`;
    if (isLocalTrouble(code)) this.#settle('LOCAL_TROUBLE', `this machine could not connect (${code})`);
    else if (this.#localAddress === '') this.#settle('CONNECT_FAILED', `no connection to ${where} (${code})`);
    else this.#settle('CONNECT_INTERRUPT', `the connection broke ${this.#progress()} (${code})`);
  }

  #expire(lateMs: number): void {
    const limit = `within ${Math.ceil(this.#request.timeoutMs)} ms`;
    if (lateMs > Math.max(LATE_MS, this.#request.timeoutMs * LATE_SHARE)) {
      this.#settle('LOCAL_TROUBLE', `no verdict: this process was held up for ${Math.round(lateMs)} ms`);
    } else if (this.#localAddress === '') this.#settle('CONNECT_TIMEOUT', `no connection ${limit}`);
    else this.#settle('RECV_RESPONSE_TIMEOUT', `no complete response ${limit}, ${this.#progress()}`);
  }

  #progress(): string {
    if (this.#response.status === 0) return 'before the response head was complete';
    return `after status ${this.#response.status} and ${this.#response.bodyBytes} bytes of body`;
  }
}
