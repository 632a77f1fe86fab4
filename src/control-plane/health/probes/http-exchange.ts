import { attempt } from '../attempt.ts';
import { ProbeFault } from '../attempt.ts';
import type { ProbeDeps, ProbeResult, ProbeTarget } from '../probe.ts';
import { connect, type ConnectionOptions } from './connection.ts';
import { Conversation } from './conversation.ts';
import { ResponseReader } from './http-response.ts';

export interface ExchangeRequest extends ConnectionOptions {
  readonly method: string;
  readonly bytes: Buffer;
  readonly timeoutMs: number;
  readonly maxBodyBytes: number;
  /** Enough of the response is here to judge it. */
  readonly suffices: (response: ResponseReader) => boolean;
}

/** How an exchange ended. `reason` is '' when the response is whole, or as whole as was asked for. */
export interface ExchangeResult extends Pick<ProbeResult, 'reason' | 'detail' | 'localAddress'> {
  readonly response: ResponseReader;
}

/** One request and its response over a connection of its own. Never rejects. */
export async function exchange(
  target: ProbeTarget,
  request: ExchangeRequest,
  deps: ProbeDeps,
): Promise<ExchangeResult> {
  const response = new ResponseReader(request.method, request.maxBodyBytes);
  const { reason, detail, localAddress } = await attempt(request.timeoutMs, deps, async (run) => {
    const line = new Conversation(run, await connect(run, target, request));
    line.send(request.bytes, 'the request');
    await line.consume({
      take: (bytes) => {
        response.push(bytes);
        return isEnough(response, request);
      },
      ended: () => {
        response.end();
        return isEnough(response, request);
      },
      progress: () => progressOf(response),
    });
    return { detail: '' };
  });
  return { response, reason, detail, localAddress };
}

function isEnough(response: ResponseReader, { suffices }: ExchangeRequest): boolean {
  if (response.error !== '') {
    throw new ProbeFault('HTTP_INVALID_HEADER', `the answer is not a valid HTTP response: ${response.error}`);
  }
  return response.complete || response.full || suffices(response);
}

function progressOf(response: ResponseReader): string {
  if (response.status === 0) return 'before the response head was complete';
  return `after status ${response.status} and ${response.bodyBytes} bytes of body`;
}
