/** Values behind `{http.reverse_proxy.…}` placeholders (Caddy's names, and `affinity` of ours). */
import { joinHostPort } from '../../shared/net/address.ts';
import type { EndpointPlan } from '../../shared/plan/types.ts';
import type { Head } from '../http1/head.ts';
import type { RetryFacts } from './retry-rules.ts';
import type { Affinity } from '../select/policy.ts';
import { hostOfAuthority, portOfAuthority } from '../route/target.ts';

export interface ProxyFacts {
  /** Configured text of the picked upstream, '' before a pick. */
  readonly upstream: string;
  readonly endpoint: EndpointPlan | null;
  readonly affinity: Affinity;
  readonly attempts: number;
  /** Status of the upstream's response, 0 before it. */
  readonly status: number;
  readonly durationMs: number;
  readonly retry: RetryFacts;
}

const PREFIX = 'http.reverse_proxy.';
const HEADER = `${PREFIX}header.`;

/** undefined = no such placeholder. */
export function proxyValue(name: string, facts: ProxyFacts): string | undefined {
  switch (name.slice(PREFIX.length)) {
    case 'upstream.hostport':
      return facts.upstream;
    case 'upstream.address':
      return facts.endpoint === null ? facts.upstream : joinHostPort(facts.endpoint.host, facts.endpoint.port);
    case 'upstream.host':
      return hostOfAuthority(facts.upstream);
    case 'upstream.port':
      return portOfAuthority(facts.upstream);
    case 'affinity':
      return facts.affinity;
    case 'retries':
      return String(Math.max(0, facts.attempts - 1));
    case 'status_code':
      return facts.status === 0 ? '' : String(facts.status);
    case 'is_transport_error':
      return String(facts.retry.isTransportError);
    case 'duration':
      return `${facts.durationMs.toFixed(3)}ms`;
    case 'duration_ms':
      return facts.durationMs.toFixed(3);
    default:
      return name.startsWith(HEADER) ? fieldOf(facts.retry.responseHead, name.slice(HEADER.length)) : undefined;
  }
}

/** All lines of the field, joined with commas; '' when it is absent. */
function fieldOf(head: Head | null, name: string): string {
  if (head === null) return '';
  const lower = name.toLowerCase();
  let value = '';
  for (let at = head.findField(lower, 0); at >= 0; at = head.findField(lower, at + 1)) {
    value += value === '' ? head.valueOf(at) : `,${head.valueOf(at)}`;
  }
  return value;
}
