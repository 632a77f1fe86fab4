/** `health_checks.probe`: one schema a probe. Payloads come out as latin1. */
import { z } from 'zod';
import type { DnsType } from '../../../health/probe-spec.ts';
import { moduleOf } from '../module.ts';
import { re2Pattern } from '../patterns.ts';
import {
  describe,
  flag,
  list,
  object,
  oneOf,
  orNull,
  statusPattern,
  text,
  textLike,
  wholeNumber,
} from '../primitives.ts';
import { payload } from './payload.ts';
import { type ProbeCommonConfig, probeObject, probeTls, type ProbeTlsConfig } from './common.ts';

export type ScriptStepConfig =
  | { readonly send: string }
  | { readonly expect: string }
  | { readonly expect_regex: string };

interface TcpFields {
  readonly close: 'reset' | 'fin';
  readonly script: readonly ScriptStepConfig[];
  readonly tls: ProbeTlsConfig | null;
}
interface UdpFields {
  /** null = on, where it is used. */
  readonly echo: boolean | null;
  readonly send: string | null;
  readonly expect: string | null;
  readonly expect_regex: string | null;
}
interface HttpFields {
  readonly method: 'GET' | 'HEAD';
  readonly version: '1.0' | '1.1';
  /** A name, or `$SERVER_IP`. */
  readonly domain: string | null;
  readonly path: string;
  readonly status: readonly number[];
  readonly expect_body: string;
  readonly tls: ProbeTlsConfig | null;
}
interface GrpcFields {
  readonly service: string;
  readonly tls: ProbeTlsConfig | null;
}
interface DnsFields {
  readonly name: string;
  readonly type: DnsType;
  readonly alive: boolean;
}
interface SmtpFields {
  readonly ehlo: string;
}
interface RedisFields {
  readonly strict: boolean;
}
interface MqttFields {
  readonly version: number;
}

type ProbeFields =
  | (TcpFields & { readonly probe: 'tcp' })
  | (UdpFields & { readonly probe: 'udp' })
  | (HttpFields & { readonly probe: 'http' })
  | (GrpcFields & { readonly probe: 'grpc' })
  | (DnsFields & { readonly probe: 'dns' })
  | (SmtpFields & { readonly probe: 'smtp' })
  | { readonly probe: 'ssh' }
  | (RedisFields & { readonly probe: 'redis' })
  | (MqttFields & { readonly probe: 'mqtt' })
  | { readonly probe: 'quic' };

export type ProbeCheckConfig = ProbeFields & ProbeCommonConfig;

const MAX_STEPS = 16;

const STEPS: readonly (readonly [string, z.ZodType<ScriptStepConfig>])[] = [
  ['send', object({ send: payload() })],
  ['expect', object({ expect: payload() })],
  ['expect_regex', object({ expect_regex: re2Pattern() })],
];

/** Read by its first known field, so that the message is about what is wrong in it. */
const scriptStep: z.ZodType<ScriptStepConfig> = z.unknown().transform((value, context) => {
  const named = STEPS.find(([name]) => value !== null && typeof value === 'object' && Object.hasOwn(value, name));
  if (named === undefined) {
    const expected = 'a step: {"send": …}, {"expect": …} or {"expect_regex": …}';
    context.addIssue({ code: 'custom', message: `expected ${expected}, found ${describe(value)}` });
    return z.NEVER;
  }
  const result = named[1].safeParse(value);
  if (result.success) return result.data;
  for (const { message, path } of result.error.issues) context.addIssue({ code: 'custom', message, path });
  return z.NEVER;
});

const script = list(scriptStep).refine((steps) => steps.length <= MAX_STEPS, {
  error: `expected at most ${MAX_STEPS} steps of send and expect`,
});

/** RFC 1035 section 2.3.4. */
const dnsName = textLike(
  /^(?=.{1,254}$)(?:\.|(?:[!-\x2d\x2f-~]{1,63}\.)*[!-\x2d\x2f-~]{1,63}\.?)$/,
  'a domain name, or . for the root',
);
const hostName = textLike(/^[A-Za-z0-9_](?:[A-Za-z0-9_.-]{0,252}[A-Za-z0-9_.])?$/, 'a host name');
const domain = textLike(
  /^(?:\$SERVER_IP|[A-Za-z0-9_[\]:.-]{1,253})$/,
  "a name, or $SERVER_IP for the server's address",
);

const MODULES: Readonly<Record<string, z.ZodType<ProbeCheckConfig>>> = {
  tcp: probeObject<TcpFields, 'tcp'>('tcp', {
    close: oneOf(['reset', 'fin']).default('reset'),
    script: script.default([]),
    tls: probeTls(),
  }),
  udp: probeObject<UdpFields, 'udp'>('udp', {
    echo: orNull(flag()),
    send: orNull(payload()),
    expect: orNull(payload()),
    expect_regex: orNull(re2Pattern()),
  }),
  http: probeObject<HttpFields, 'http'>('http', {
    method: oneOf(['GET', 'HEAD']).default('GET'),
    version: oneOf(['1.0', '1.1']).default('1.0'),
    domain: orNull(domain),
    path: textLike(/^\/[\x21-\x7e]*$/, 'a path beginning with /, without spaces').default('/'),
    status: list(statusPattern()).default([2]),
    expect_body: re2Pattern().default(''),
    tls: probeTls(),
  }),
  grpc: probeObject<GrpcFields, 'grpc'>('grpc', {
    service: text('the name of a service').default(''),
    tls: probeTls(),
  }),
  dns: probeObject<DnsFields, 'dns'>('dns', {
    name: dnsName.default('.'),
    type: oneOf(['A', 'NS', 'CNAME', 'SOA', 'MX', 'TXT', 'AAAA', 'SRV']).default('A'),
    alive: flag().default(false),
  }),
  smtp: probeObject<SmtpFields, 'smtp'>('smtp', { ehlo: hostName.default('') }),
  ssh: probeObject<object, 'ssh'>('ssh', {}),
  redis: probeObject<RedisFields, 'redis'>('redis', { strict: flag().default(false) }),
  mqtt: probeObject<MqttFields, 'mqtt'>('mqtt', {
    version: wholeNumber(3, 5)
      .refine((version) => version !== 4, { error: 'expected a version: 3 (for 3.1.1) or 5, found 4' })
      .default(3),
  }),
  quic: probeObject<object, 'quic'>('quic', {}),
};

export const probeCheckSchema: z.ZodType<ProbeCheckConfig> = moduleOf<ProbeCheckConfig>({
  key: 'probe',
  noun: 'probe',
  modules: () => MODULES,
  notYet: [],
});
