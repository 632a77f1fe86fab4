/** The agent of one authority: whom to trust, and what went wrong below HTTP, which the library does not hand on. */
import { Agent } from 'node:https';
import type { Socket } from 'node:net';
import { rootCertificates } from 'node:tls';

export interface WatchedAgent {
  readonly agent: Agent;
  /** Why the last connection failed; null = it did not. */
  trouble(): string | null;
  forget(): void;
}

/** No roots = those that Node trusts. */
export function watchedAgent(trustedRoots: readonly string[]): WatchedAgent {
  let trouble: string | null = null;
  const agent = new Agent(trustedRoots.length === 0 ? {} : { ca: [...rootCertificates, ...trustedRoots] });
  const connect = agent.createConnection.bind(agent);
  agent.createConnection = (options, callback) => {
    const socket = connect(options, callback);
    (socket as Socket).on('error', (error: NodeJS.ErrnoException) => {
      trouble = `it cannot be reached: ${error.message === '' ? (error.code ?? 'unknown') : error.message}`;
    });
    return socket;
  };
  return {
    agent,
    trouble: () => trouble,
    forget: () => {
      trouble = null;
    },
  };
}
