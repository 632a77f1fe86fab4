/** The policies of one server, compiled. */
import { createHash } from 'node:crypto';
import type { TlsPlan, TlsPolicyPlan } from '../../shared/plan/tls.ts';
import { compilePrefixes } from '../../shared/net/cidr.ts';
import { matchesName } from '../../shared/net/host-pattern.ts';
import { parseIp } from '../../shared/net/ip.ts';
import { compileRegexp } from '../route/regexp.ts';

export interface TlsPolicy {
  /** Hash of all it says: equal policies share contexts and sessions, others do not. */
  readonly key: string;
  readonly plan: TlsPolicyPlan;
}

/** Both ends of a connection, as its socket has them; neither over a Unix socket. */
export interface Ends {
  readonly remoteAddress?: string | undefined;
  readonly localAddress?: string | undefined;
}

type Test = (serverName: string, ends: Ends) => boolean;

export class TlsPolicies {
  readonly handshakeTimeoutMs: number;
  readonly strictSniHost: boolean;
  /** As in the plan; null = never. */
  readonly asks: 'challenges' | 'all' | null;
  readonly #listeners: ReadonlySet<string>;
  readonly #policies: readonly { readonly policy: TlsPolicy; readonly matches: Test }[];

  /** Throws `ConfigError` for ranges and expressions that are none. */
  constructor(plan: TlsPlan) {
    this.handshakeTimeoutMs = plan.handshakeTimeoutMs;
    this.strictSniHost = plan.strictSniHost;
    this.asks = plan.asks ?? null;
    this.#listeners = new Set(plan.listeners);
    this.#policies = plan.policies.map((policy) => ({
      policy: { key: keyOf(policy), plan: policy },
      matches: compileTest(policy),
    }));
  }

  speaks(listenerKey: string): boolean {
    return this.#listeners.has(listenerKey);
  }

  /** null = no policy is for this name and these ends. */
  find(serverName: string, ends: Ends): TlsPolicy | null {
    return this.#policies.find(({ matches }) => matches(serverName, ends))?.policy ?? null;
  }
}

/** All that is written must hold. */
function compileTest({ sni, defaultSni, sniRegexp, remoteIp, localIp }: TlsPolicyPlan): Test {
  const tests: Test[] = [];
  if (sni.length > 0) {
    tests.push((name) => sni.some((pattern) => matchesName(pattern, name === '' ? defaultSni : name)));
  }
  if (sniRegexp !== undefined) {
    const regexp = compileRegexp(sniRegexp);
    tests.push((name) => regexp.matcher(name).find());
  }
  if (remoteIp !== undefined) {
    const isIn = addressTest(remoteIp.ranges);
    const isOut = addressTest(remoteIp.notRanges);
    const { ranges } = remoteIp;
    tests.push(
      (_name, { remoteAddress = '' }) => (ranges.length === 0 || isIn(remoteAddress)) && !isOut(remoteAddress),
    );
  }
  if (localIp !== undefined) {
    const isIn = addressTest(localIp);
    tests.push((_name, { localAddress = '' }) => isIn(localAddress));
  }
  return (name, ends) => tests.every((test) => test(name, ends));
}

function addressTest(ranges: readonly string[]): (address: string) => boolean {
  const prefixes = compilePrefixes(ranges);
  return (text) => {
    const address = parseIp(text);
    return address !== null && prefixes.contains(address);
  };
}

function keyOf(policy: TlsPolicyPlan): string {
  return createHash('sha256').update(JSON.stringify(policy)).digest('hex').slice(0, 32);
}
