/** What every `health <probe>` block may say. */
import { z } from 'zod';
import { splitHostPort } from '../../../../shared/net/address.ts';
import { parseIp } from '../../../../shared/net/ip.ts';
import { accept, duration, flag, object, oneOf, orNull, text, wholeNumber } from '../primitives.ts';

const MAX_MS = 300_000;
/** Faster than this a check is load. */
const MIN_INTERVAL_MS = 100;
const MAX_JITTER = 0.5;
/** The defaults of a network load balancer. */
const INTERVAL_MS = 5000;
const TIMEOUT_MS = 5000;
const RISE = 2;
const FALL = 2;
/** More only makes an outage last: `interval` is the better knob. */
const MAX_THRESHOLD = 10;
const DEFAULT_JITTER = 0.05;
const MAX_BURST = 50;

export interface ProbeCommonConfig {
  /** Milliseconds, start to start. */
  readonly interval: number;
  /** Milliseconds for the whole probe. */
  readonly timeout: number;
  readonly rise: number;
  readonly fall: number;
  readonly port: number | null;
  /** `host` or `host:port`. */
  readonly address: string | null;
  /** Local IP address. */
  readonly source: string | null;
  /** Share of the interval. */
  readonly jitter: number;
  /** Milliseconds. */
  readonly max_rtt: number | null;
  readonly initial: 'up' | 'down' | null;
  /** null = as the traffic of the pool. */
  readonly proxy_protocol: 'v1' | 'v2' | 'off' | null;
  readonly burst: number | null;
  /** Share of a burst. */
  readonly max_loss: number | null;
  /** Milliseconds. */
  readonly max_jitter: number | null;
}

export interface ProbeTlsConfig {
  /** '' = the upstream's own name. */
  readonly name: string;
  readonly insecure: boolean;
}

const hostMaybePort = accept('a name or an IP address, with or without a port', (value) => {
  if (typeof value !== 'string' || /[\s/]/.test(value)) return undefined;
  const parts = splitHostPort(value);
  return parts === null || parts.host === '' || parts.port === 0 ? undefined : value;
});

const localIp = accept('an IP address of this machine', (value) => {
  return typeof value === 'string' ? (parseIp(value)?.text ?? undefined) : undefined;
});

function share(max: number): z.ZodType<number> {
  return accept(`a share from 0 to ${max} (0.05 = 5 %)`, (value) => {
    return typeof value === 'number' && value >= 0 && value <= max ? value : undefined;
  });
}

type CommonShape = { readonly [K in keyof ProbeCommonConfig]: z.ZodType<ProbeCommonConfig[K]> };

const COMMON: CommonShape = {
  interval: duration(MIN_INTERVAL_MS, MAX_MS).default(INTERVAL_MS),
  timeout: duration(1, MAX_MS).default(TIMEOUT_MS),
  rise: wholeNumber(1, MAX_THRESHOLD).default(RISE),
  fall: wholeNumber(1, MAX_THRESHOLD).default(FALL),
  port: orNull(wholeNumber(1, 65_535)),
  address: orNull(hostMaybePort),
  source: orNull(localIp),
  jitter: share(MAX_JITTER).default(DEFAULT_JITTER),
  max_rtt: orNull(duration(1, MAX_MS)),
  initial: orNull(oneOf(['up', 'down'])),
  proxy_protocol: orNull(oneOf(['v1', 'v2', 'off'])),
  burst: orNull(wholeNumber(2, MAX_BURST)),
  max_loss: orNull(share(1)),
  max_jitter: orNull(duration(1, MAX_MS)),
};

/** The schema of one probe: its own fields and the common ones. */
export function probeObject<Own extends object, Name extends string>(
  name: Name,
  own: { readonly [K in keyof Own]: z.ZodType<Own[K]> },
): z.ZodType<Own & ProbeCommonConfig & { readonly probe: Name }> {
  // The mapped shapes are known to match; z.object cannot follow them through a type parameter.
  return object({ ...COMMON, ...own, probe: z.literal(name) }) as unknown as z.ZodType<
    Own & ProbeCommonConfig & { readonly probe: Name }
  >;
}

export function probeTls(): z.ZodType<ProbeTlsConfig | null> {
  return orNull(
    object({
      name: text('the name in the certificate').default(''),
      insecure: flag().default(false),
    }),
  );
}
