/** One entry of the `upstreams` of a `proxy`. */
import type { z } from 'zod';
import { parseIp } from '../../../../shared/net/ip.ts';
import { accept, duration, flag, list, notYet, object, orNull, text, wholeNumber } from '../primitives.ts';
import { MAX_WEIGHT, upstreamSchema } from '../upstream.ts';
import type { UpstreamConfig } from '../upstream.ts';
import { upstreamTls } from '../upstream-tls.ts';
import type { UpstreamTlsConfig } from '../upstream-tls.ts';

const HOUR_MS = 3_600_000;
const MAX_CONNECTIONS = 1_000_000;

export interface Layer4UpstreamConfig {
  /** As an upstream of a `reverse_proxy`. */
  readonly upstream: UpstreamConfig;
  /** IP address that connections to it are made from; null = any. */
  readonly localAddress: string | null;
  /** null = in the clear. */
  readonly tls: UpstreamTlsConfig | null;
}

const localAddress = accept('an IP address of this machine', (value) => {
  return typeof value === 'string' ? (parseIp(value)?.text ?? undefined) : undefined;
});

const dial = list(text('host:port')).superRefine((addresses, context) => {
  if (addresses.length === 1) return;
  const message =
    addresses.length === 0
      ? 'an upstream has an address: name one host:port'
      : 'several addresses of one upstream would each get a copy of the stream: write an upstream for each';
  context.addIssue({ code: 'custom', message });
});

const fields = object({
  dial,
  max_connections: wholeNumber(0, MAX_CONNECTIONS).default(0),
  weight: orNull(wholeNumber(0, MAX_WEIGHT)),
  backup: flag().default(false),
  slow_start: duration(0, HOUR_MS).default(0),
  local_addr: orNull(localAddress),
  resolver_preference: notYet('resolver_preference'),
  tls: orNull(upstreamTls),
});

export const layer4UpstreamSchema: z.ZodType<Layer4UpstreamConfig> = fields.transform((config) => ({
  upstream: {
    ...upstreamSchema.parse({ dial: config.dial[0] ?? '' }),
    max_requests: config.max_connections,
    weight: config.weight,
    backup: config.backup,
    slow_start: config.slow_start,
  },
  localAddress: config.local_addr,
  tls: config.tls,
}));
