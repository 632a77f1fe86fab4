import { isIP } from 'node:net';
import { attempt, type Attempt, type Finding, ProbeFault } from '../attempt.ts';
import type { Echo, EchoAnswer } from '../echo.ts';
import type { Probe, ProbeDeps, ProbeOptions, ProbeResult, ProbeTarget, ServerProbe } from '../probe.ts';
import type { UdpProbeSpec } from '../probe-spec.ts';
import { shownBytes } from './conversation.ts';
import { datagramFault, type Datagrams, openDatagrams } from './datagrams.ts';
import { compileExpectation, describeExpectation, type Expectation } from './script.ts';

/**
 * How long a refusal makes silence suspicious. Linux sends six "port unreachable" to a peer and then one a
 * second (icmp_ratelimit): probes and traffic that ask more often than that meet silence in between.
 */
export const REFUSAL_MEMORY_MS = 3000;

/**
 * `udp`. Without an expected answer: an echo request and a datagram; it passes when time is up, the echo
 * came back and nothing said that the port is unreachable. Any datagram in return is proof of life and
 * passes at once. With one: only that answer passes. Silence that follows a refusal, of a probe or of
 * traffic, is no pass.
 */
export function udpCheck(spec: UdpProbeSpec, echo: Echo): Probe {
  const question = new UdpQuestion(spec, echo);
  return {
    run: (target, options, deps) => new UdpServer(question, false).run(target, options, deps),
    forServer: () => new UdpServer(question, true),
  };
}

class UdpQuestion {
  readonly payload: Buffer;
  readonly expect: Expectation | null;
  readonly expected: string;
  readonly echo: Echo | null;

  constructor(spec: UdpProbeSpec, echo: Echo) {
    this.payload = Buffer.from(spec.payload, 'latin1');
    this.expect = spec.expect === null ? null : compileExpectation(spec.expect);
    this.expected = spec.expect === null ? '' : describeExpectation(spec.expect);
    this.echo = spec.echo ? echo : null;
  }
}

class UdpServer implements ServerProbe {
  readonly #question: UdpQuestion;
  readonly #keep: boolean;
  #datagrams: Datagrams | null = null;
  /** When the port was refused last, by the clock. */
  #refusedAt = Number.NEGATIVE_INFINITY;

  /** `keep`: the socket stays open between probes, so that a late "unreachable" is seen. */
  constructor(question: UdpQuestion, keep: boolean) {
    this.#question = question;
    this.#keep = keep;
  }

  async run(target: ProbeTarget, options: ProbeOptions, deps: ProbeDeps): Promise<ProbeResult> {
    const result = await attempt(options.timeoutMs, deps, async (run) => {
      const datagrams = (this.#datagrams ??= await openDatagrams(run, target, options));
      const { clock } = deps;
      const refused = (): void => void (this.#refusedAt = clock.now());
      if (datagrams.refusedLate) refused();
      datagrams.refusedLate = false;
      const refusedLately = (): boolean => clock.now() - this.#refusedAt <= REFUSAL_MEMORY_MS;
      return new UdpRun(run, this.#question, target, options, { datagrams, refused, refusedLately }).judge();
    });
    if (this.#datagrams !== null) this.#datagrams.listener = null;
    // A socket that this machine had trouble with may be bound to an address that is gone.
    // A name may stand for another address by the next probe.
    if (!this.#keep || result.outcome === 'neutral' || isIP(target.host) === 0) this.close();
    return result;
  }

  close(): void {
    this.#datagrams?.destroy();
    this.#datagrams = null;
  }
}

/** What a run has of its server. */
interface UdpState {
  readonly datagrams: Datagrams;
  /** The port was refused just now. */
  readonly refused: () => void;
  readonly refusedLately: () => boolean;
}

class UdpRun {
  readonly #run: Attempt;
  readonly #question: UdpQuestion;
  readonly #target: ProbeTarget;
  readonly #options: ProbeOptions;
  readonly #datagrams: Datagrams;
  readonly #state: UdpState;
  #echo: EchoAnswer | null = null;
  #other = '';

  constructor(run: Attempt, question: UdpQuestion, target: ProbeTarget, options: ProbeOptions, state: UdpState) {
    this.#run = run;
    this.#question = question;
    this.#target = target;
    this.#options = options;
    this.#datagrams = state.datagrams;
    this.#state = state;
    run.localAddress = state.datagrams.localAddress;
  }

  async judge(): Promise<Finding> {
    const silence = new ProbeFault(
      'RECV_RESPONSE_TIMEOUT',
      `no answer to what was sent${this.#run.from()} ${this.#run.limit()}`,
    );
    this.#run.onDeadline = () => silence;
    this.#run.step('local', `from ${this.#datagrams.localAddress}`);
    void this.#askEcho();
    try {
      return await this.#answer();
    } catch (fault) {
      if (fault === silence) return this.#afterSilence(silence);
      throw fault;
    }
  }

  #answer(): Promise<Finding> {
    const { payload, expect } = this.#question;
    return this.#run.wait((resolve) => {
      this.#datagrams.listener = {
        error: (error) => {
          if (error.code === 'ECONNREFUSED') this.#state.refused();
          this.#run.step('received', error.code === 'ECONNREFUSED' ? 'ICMP port unreachable' : String(error.code));
          this.#run.fail(datagramFault(error, this.#target));
        },
        message: (bytes) => {
          this.#run.step('received', `${bytes.length} bytes`, bytes);
          if (expect === null || expect(bytes) >= 0) resolve({ detail: `answered ${shownBytes(bytes)}` });
          else this.#other = `no ${this.#question.expected} in ${shownBytes(bytes)}`;
        },
      };
      this.#run.step('sent', 'the datagram', payload);
      this.#datagrams.send(payload);
    });
  }

  #afterSilence(silence: ProbeFault): Finding {
    if (this.#other !== '') throw new ProbeFault('RESPONSE_NOT_MATCH', this.#other);
    if (this.#question.expect !== null) throw silence;
    if (this.#state.refusedLately() || this.#options.refusedByTraffic?.() === true) {
      throw new ProbeFault('PORT_UNREACHABLE', 'silence, and the port was refused a moment ago');
    }
    if (this.#question.echo === null) return { detail: 'silence, and nothing refused the port', silent: true };
    const echo = this.#echo ?? { outcome: 'none' };
    if (echo.outcome === 'unavailable') {
      throw new ProbeFault('LOCAL_TROUBLE', `no echo request was sent: ${echo.detail}; write echo off to do without`);
    }
    if (echo.outcome === 'none')
      throw new ProbeFault('NO_ECHO', `no echo from ${this.#target.host} ${this.#run.limit()}`);
    return { detail: 'the host answers, and nothing refused the port', roundTripMs: echo.roundTripMs };
  }

  async #askEcho(): Promise<void> {
    const { echo } = this.#question;
    if (echo === null || this.#question.expect !== null) return;
    const { timeoutMs, intervalMs, localAddress } = this.#options;
    this.#run.step('sent', `echo request to ${this.#target.host} (ICMP, by ping)`);
    this.#echo = await echo.ask({
      host: this.#target.host,
      timeoutMs,
      maxAgeMs: intervalMs / 2,
      ...(localAddress === undefined ? {} : { localAddress }),
    });
    if (this.#echo.outcome === 'reply') this.#run.step('received', `echo reply, ${this.#echo.roundTripMs} ms`);
    else if (this.#echo.outcome === 'unavailable') this.#run.step('local', this.#echo.detail);
  }
}
