/** `reverse_proxy` whose upstreams the request names: placeholders in their addresses. */
import type { SectionHash } from '../../shared/plan/types.ts';
import type { CompiledProxy, ErrorDecision, WaitDecision } from './decision.ts';
import type { Handler } from './handler.ts';
import type { RequestView } from './request-view.ts';
import type { Template } from './template.ts';

/** The pool made of these addresses, when the worker has it. */
export type FindDerived<Pool> = (pattern: SectionHash, addresses: readonly string[]) => Pool | null;

/** Longer ones are no addresses. */
const MAX_ADDRESS_BYTES = 300;
const NO_ADDRESS: ErrorDecision = Object.freeze({
  kind: 'error',
  status: 502,
  message: 'the request names no upstream',
});
const TOO_LATE: ErrorDecision = Object.freeze({
  kind: 'error',
  status: 503,
  message: 'the upstream that the request names is not known yet',
});

/** Goes on at once with a pool that is known, and waits for one that is not. */
export function compileDerived<Pool>(
  pattern: SectionHash,
  templates: readonly Template[],
  proxy: CompiledProxy<Pool>,
  find: FindDerived<Pool>,
): Handler<Pool> {
  return (request) => {
    const addresses = templates.map((template) => template.render(request));
    if (!addresses.every(mayBeAddress)) return NO_ADDRESS;
    const pool = find(pattern, addresses);
    return pool === null ? waitFor(pattern, addresses, proxy, find) : { ...proxy, pool };
  };
}

function mayBeAddress(text: string): boolean {
  return text.length <= MAX_ADDRESS_BYTES && /^[!-~]+$/.test(text);
}

function waitFor<Pool>(
  pattern: SectionHash,
  addresses: readonly string[],
  proxy: CompiledProxy<Pool>,
  find: FindDerived<Pool>,
): WaitDecision {
  return {
    kind: 'wait',
    errand: { kind: 'derive', pattern, addresses },
    finish({ outcome }, _request: RequestView) {
      if (outcome === 'no') return NO_ADDRESS;
      const pool = outcome === 'yes' ? find(pattern, addresses) : null;
      // The wait names no type of pool; it comes back to the router that made it.
      return pool === null ? TOO_LATE : ({ ...proxy, pool } as CompiledProxy<never>);
    },
  };
}
