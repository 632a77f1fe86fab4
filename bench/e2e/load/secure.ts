/** Load over TLS: requests on connections that stay, handshakes, and streams of HTTP/2. */
import { installed } from '../processes.ts';
import type { LoadGenerator } from './load.ts';
import { runWrk } from './wrk.ts';

/** Requests that each HTTP/2 connection has open at a time. */
const STREAMS = 10;

export const httpsLoad: LoadGenerator = {
  name: 'wrk, 1 thread, TLS',
  run: (bench, port, connections, seconds) => runWrk(bench, `https://127.0.0.1:${port}/`, connections, seconds),
};

/** A full handshake for each request: wrk resumes no sessions. */
export const handshakeLoad: LoadGenerator = {
  name: 'wrk, 1 thread, TLS, Connection: close',
  warmUpRequests: 5000,
  run: (bench, port, connections, seconds) =>
    runWrk(bench, `https://127.0.0.1:${port}/`, connections, seconds, ['-H', 'Connection: close']),
};

export const http2Load: LoadGenerator = {
  name: `h2load, 1 thread, ${STREAMS} streams a connection`,
  async run(bench, port, connections, seconds) {
    const args = ['-t1', `-c${connections}`, `-m${STREAMS}`, '-D', String(seconds), `https://127.0.0.1:${port}/`];
    const output = await bench.processes.run({ command: 'h2load', args, cores: bench.otherCores });
    const ok = Number(/status codes: (\d+) 2xx/.exec(output)?.[1]);
    const [, failed, errored, timeout] = /(\d+) failed, (\d+) errored, (\d+) timeout/.exec(output) ?? [];
    if (Number.isNaN(ok) || timeout === undefined) throw new Error(`h2load printed something unknown:\n${output}`);
    const failures = Number(failed) + Number(errored) + Number(timeout);
    // It knows no percentiles.
    return { requests: ok, seconds, failures, p50Ms: Number.NaN, p99Ms: Number.NaN };
  },
};

/** Why a generator cannot run here; '' = it can. */
export function missingFor(generator: LoadGenerator): string {
  const program = generator === http2Load ? 'h2load' : 'wrk';
  return installed(program) ? '' : `${program} is not installed`;
}
