/** Where a request would go and why: the functions of a worker, run on a request that nobody sent. */
import { explainClient } from '../../data-plane/client-ip/derive.ts';
import { compileClientIpHeaders } from '../../data-plane/client-ip/header.ts';
import type { Head } from '../../data-plane/http1/head.ts';
import type { ProcessFacts } from '../../data-plane/route/placeholder/placeholder.ts';
import { hostOfAuthority } from '../../data-plane/route/target.ts';
import type { TlsFacts } from '../../data-plane/route/tls-facts.ts';
import { compilePrefixes } from '../../shared/net/cidr.ts';
import type { SectionHash } from '../../shared/plan/types.ts';
import type { CompiledConfig } from '../compile/compiled.ts';
import { ExplainedRequest, readHead, type Trust } from './explained-request.ts';
import type { ClientExplanation, Explanation } from './explanation.ts';
import {
  checkScheme,
  chooseServer,
  parseQuestion,
  QuestionError,
  type BoundPorts,
  type Question,
  type ServerSpec,
} from './question.ts';
import type { TrialPool } from './trial-pool.ts';
import { walkRoutes } from './walk.ts';

/** Ports that stand for any client's. */
const PEER_PORT = 50_000;

export interface ExplainContext {
  readonly compiled: CompiledConfig;
  /** Listener key → where it is bound; empty for a config that runs nowhere. */
  readonly bound: BoundPorts;
  readonly facts: ProcessFacts;
  readonly wallMs: number;
  /** Of the chance that policies use. */
  readonly seed: number;
  poolOf(hash: SectionHash): TrialPool;
  /** Of upstreams that the request names; null = these are no addresses. */
  derived(pattern: SectionHash, addresses: readonly string[]): TrialPool | null;
  /** JSON path → where it was written. */
  place(path: string): string;
}

/** Throws a `QuestionError` for what no client could send, and for what the server would refuse before it routes. */
export function explain(question: Question, context: ExplainContext): Explanation {
  const asked = parseQuestion(question);
  const chosen = chooseServer(context.compiled, context.bound, asked.port);
  checkScheme(chosen, asked.secure);
  const { server, listener, host, port, note } = chosen;
  const head = readHead(asked.head, server.options.maxHeaderBytes, server.options.maxHeaderFields);
  if (typeof head === 'string') throw new QuestionError(`the server would answer ${head}`);
  const trust = trustOf(server);
  const connection = {
    peer: asked.peer,
    peerPort: PEER_PORT,
    localAddress: host,
    localPort: port,
    tls: tlsOf(asked.secure, head),
  };
  const request = new ExplainedRequest(head, connection, trust, context.wallMs, context.seed);
  return {
    request: { method: head.method, host: head.authority, target: head.originForm },
    server: { name: server.name, listener, note },
    client: clientOf(request, server, trust, head),
    ...walkRoutes(request, server, context),
  };
}

/** What a client of today would have agreed on; its name is the host it asks for. */
function tlsOf(secure: boolean, head: Head): TlsFacts | null {
  if (!secure) return null;
  return {
    version: 'tls1.3',
    cipherSuite: 'TLS_AES_128_GCM_SHA256',
    resumed: false,
    proto: 'http/1.1',
    serverName: hostOfAuthority(head.authority),
    policyKey: '',
    clientCertificate: undefined,
    verified: false,
  };
}

function trustOf({ options }: ServerSpec): Trust {
  return {
    trusted: options.trustedProxies.length === 0 ? null : compilePrefixes(options.trustedProxies),
    clientIpList: compileClientIpHeaders(options.clientIpHeaders),
  };
}

function clientOf(request: ExplainedRequest, server: ServerSpec, trust: Trust, head: Head): ClientExplanation {
  const { trusted, hops, why } = explainClient(request.peer, trust.trusted, trust.clientIpList(head));
  return {
    peer: request.peer?.text ?? '',
    address: request.client?.text ?? '',
    trusted,
    header: server.options.clientIpHeaders.find((name) => head.find(name.toLowerCase()) !== null) ?? '',
    hops,
    why,
  };
}
