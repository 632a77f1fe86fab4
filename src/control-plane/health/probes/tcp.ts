import { attempt } from '../attempt.ts';
import type { Probe } from '../probe.ts';
import type { TlsContexts } from '../tls-contexts.ts';
import type { TcpProbeSpec } from '../probe-spec.ts';
import { connect } from './connection.ts';
import { Conversation } from './conversation.ts';
import { compileScript, play } from './script.ts';

/**
 * `tcp`: the connection comes about; with a script the server also has to answer as written. Without
 * one, a pass on the wire is SYN, SYN-ACK, ACK, RST; with `close fin` it is a clean end.
 */
export function tcpCheck(spec: TcpProbeSpec, contexts: TlsContexts): Probe {
  const tls = contexts.ready(spec.tls);
  const script = compileScript(spec.script);
  return {
    run: (target, options, deps) =>
      attempt(options.timeoutMs, deps, async (run) => {
        const socket = await connect(run, target, { ...options, tls });
        const roundTripMs = script.length === 0 ? { roundTripMs: run.elapsedMs() } : {};
        const line = new Conversation(run, socket);
        const detail = await play(line, script);
        line.leave(spec.tls === null ? spec.close : 'fin');
        return { detail: detail === '' ? 'connected' : detail, ...roundTripMs };
      }),
  };
}
