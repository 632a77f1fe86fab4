import type { UpstreamTlsPlan } from '../../shared/plan/upstream-tls.ts';

/**
 * What a check asks, one type a probe. Plain data: compiled from the config, hashed into the definition
 * that verdicts are keyed by. Payloads are latin1 texts: one character a byte.
 */
export type ProbeSpec =
  | HttpProbeSpec
  | TcpProbeSpec
  | UdpProbeSpec
  | GrpcProbeSpec
  | DnsProbeSpec
  | SmtpProbeSpec
  | SshProbeSpec
  | RedisProbeSpec
  | MqttProbeSpec
  | QuicProbeSpec;

export type ProbeKind = ProbeSpec['kind'];

/** TLS inside of the probe's connection. */
export interface ProbeTls {
  /** Name sent (SNI) and verified; '' = the upstream's own, none when that is an address. */
  readonly serverName: string;
  /** The certificate is not looked at. */
  readonly insecure: boolean;
  /** How the traffic of the pool speaks TLS (authorities, our certificate); absent = the authorities of the system. */
  readonly traffic?: UpstreamTlsPlan;
}

/** `health_uri` and `health http`: one HTTP/1 exchange. */
export interface HttpProbeSpec {
  readonly kind: 'http';
  readonly method: string;
  /** Path and query. */
  readonly uri: string;
  readonly version: '1.0' | '1.1' | '2';
  /**
   * What the Host field says: `upstream` = host and port as configured; `address` = the checked address
   * itself (`domain $SERVER_IP`); `none` = the field is not sent; else the name.
   */
  readonly host: 'upstream' | 'address' | 'none' | { readonly name: string };
  /** Alternating name and value. */
  readonly headers: readonly string[];
  readonly body: string;
  /** Accepted: codes, and 1 … 5 for classes. */
  readonly statuses: readonly number[];
  /** RE2 pattern searched in the body, '' = none. */
  readonly expectBody: string;
  /** Bytes of body read; 0 = the head is enough. */
  readonly maxBytes: number;
  readonly followRedirects: boolean;
  readonly tls: ProbeTls | null;
}

/** One step of a conversation. */
export type ScriptStep =
  | { readonly step: 'send'; readonly bytes: string }
  /** The answer holds these bytes. */
  | { readonly step: 'expect'; readonly bytes: string }
  /** RE2, over the answer's bytes as latin1. */
  | { readonly step: 'expect_regex'; readonly pattern: string };

export interface TcpProbeSpec {
  readonly kind: 'tcp';
  /** How the connection ends after a pass. */
  readonly close: 'reset' | 'fin';
  /** In order; empty = the connection itself is the answer. */
  readonly script: readonly ScriptStep[];
  readonly tls: ProbeTls | null;
}

export interface UdpProbeSpec {
  readonly kind: 'udp';
  /** The host has to answer an echo request as well. */
  readonly echo: boolean;
  /** The datagram. */
  readonly payload: string;
  /** null = silence is no failure. */
  readonly expect: Exclude<ScriptStep, { step: 'send' }> | null;
}

export interface GrpcProbeSpec {
  readonly kind: 'grpc';
  /** Asked for in `grpc.health.v1.Health/Check`; '' = the server as a whole. */
  readonly service: string;
  readonly tls: ProbeTls | null;
}

export interface DnsProbeSpec {
  readonly kind: 'dns';
  /** '' = the root. */
  readonly name: string;
  readonly type: DnsType;
  /** Any answer to the question is a pass, whatever its code. */
  readonly alive: boolean;
}

export type DnsType = 'A' | 'NS' | 'CNAME' | 'SOA' | 'MX' | 'TXT' | 'AAAA' | 'SRV';

export interface SmtpProbeSpec {
  readonly kind: 'smtp';
  /** Name said in EHLO; '' = the banner is enough. */
  readonly ehlo: string;
}

interface SshProbeSpec {
  readonly kind: 'ssh';
}

export interface RedisProbeSpec {
  readonly kind: 'redis';
  /** Only `+PONG` is a pass: a server that asks for a password fails. */
  readonly strict: boolean;
}

export interface MqttProbeSpec {
  readonly kind: 'mqtt';
  /** 3 = MQTT 3.1.1. */
  readonly version: 3 | 5;
}

interface QuicProbeSpec {
  readonly kind: 'quic';
}
