/** Runs the probe of `holdfast check` and prints what happens. */
import dns from 'node:dns/promises';
import { isIP } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { joinHostPort, unixPath } from '../../shared/net/address.ts';
import { systemClock } from '../../shared/clock.ts';
import { systemRandom } from '../../shared/random.ts';
import { checkProbe } from '../../control-plane/health/check-probe.ts';
import { PingEcho } from '../../control-plane/health/echo.ts';
import type { ProbeResult, ProbeStep, ProbeTarget } from '../../control-plane/health/probe.ts';
import type { ProbeKind } from '../../control-plane/health/probe-spec.ts';
import { explainReason } from '../../control-plane/health/reasons.ts';
import { TlsContexts } from '../../control-plane/health/tls-contexts.ts';
import { CliError } from '../failure.ts';
import type { Terminal } from '../output.ts';
import { checkJson, headingText, resultText, stepText } from './check-text.ts';
import type { ReadCheck } from './read-check.ts';

const OVER_UDP: ReadonlySet<ProbeKind> = new Set<ProbeKind>(['udp', 'dns', 'quic']);

const ALIVE_MS = 60_000;

interface RunOptions {
  readonly count: number;
  readonly json: boolean;
}

/** false when one of the probes did not pass. */
export async function runChecks(check: ReadCheck, options: RunOptions, terminal: Terminal): Promise<boolean> {
  // The clock's timers keep no process alive, and a burst waits for one while no socket is open.
  const alive = setInterval(() => {}, ALIVE_MS);
  try {
    return await runRounds(check, options, terminal);
  } finally {
    clearInterval(alive);
  }
}

async function runRounds(check: ReadCheck, { count, json }: RunOptions, terminal: Terminal): Promise<boolean> {
  const target = await resolve(check);
  const write = (text: string): void => void terminal.stdout.write(text);
  const network = OVER_UDP.has(check.spec.probe.kind) ? 'udp' : 'tcp';
  let passed = true;
  if (!json) write(headingText(check.spec, target));
  for (let round = 0; round < count; round += 1) {
    if (round > 0) await sleep(check.spec.intervalMs);
    const steps: ProbeStep[] = [];
    const result = await runOnce(check, target, (step) => {
      if (json) steps.push(step);
      else write(stepText(step));
    });
    const where = joinHostPort(target.host, target.port);
    const words = explainReason(result.reason);
    write(
      json ? `${JSON.stringify(checkJson(where, steps, result, words))}\n` : resultText(network, target, result, words),
    );
    passed &&= result.outcome === 'pass';
  }
  return passed;
}

function runOnce(check: ReadCheck, target: ProbeTarget, observe: (step: ProbeStep) => void): Promise<ProbeResult> {
  const { spec } = check;
  const probe = checkProbe(spec, { random: systemRandom, echo: new PingEcho(systemClock), tls: new TlsContexts() });
  const options = {
    timeoutMs: spec.timeoutMs,
    intervalMs: spec.intervalMs,
    authority: unixPath(check.host) === null ? joinHostPort(check.host, target.port) : 'localhost',
    ...(spec.localAddress === undefined ? {} : { localAddress: spec.localAddress }),
    ...(spec.proxyProtocol === undefined ? {} : { proxyProtocol: spec.proxyProtocol }),
  };
  return probe.run(target, options, { clock: systemClock, signal: new AbortController().signal, observe });
}

/** Where the probe goes: `--address` and `--port` count as in a config; a name is looked up once. */
async function resolve({ spec, host, port }: ReadCheck): Promise<ProbeTarget> {
  const name = spec.address?.host ?? host;
  const target = { host: name, port: spec.address?.port ?? spec.port ?? port };
  if (unixPath(name) !== null || isIP(name) !== 0) return target;
  try {
    return { ...target, host: (await dns.lookup(name)).address };
  } catch (error) {
    throw new CliError(`${name} has no address: ${error instanceof Error ? error.message : String(error)}`);
  }
}
