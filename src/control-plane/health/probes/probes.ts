/** Which code runs which probe. */
import type { Random } from '../../../shared/random.ts';
import type { Echo } from '../echo.ts';
import type { Probe } from '../probe.ts';
import type { ProbeSpec } from '../probe-spec.ts';
import type { TlsContexts } from '../tls-contexts.ts';
import { dnsCheck } from './dns.ts';
import { grpcCheck } from './grpc.ts';
import { httpCheck } from './http.ts';
import { mqttCheck } from './mqtt.ts';
import { quicCheck } from './quic.ts';
import { redisCheck } from './redis.ts';
import { smtpCheck } from './smtp.ts';
import { sshCheck } from './ssh.ts';
import { tcpCheck } from './tcp.ts';
import { udpCheck } from './udp.ts';

/** What probes need of the process. */
export interface ProbeEnvironment {
  readonly random: Random;
  readonly echo: Echo;
  readonly tls: TlsContexts;
}

/** Compiles payloads and patterns once; the result serves any number of servers. */
export function createProbe(spec: ProbeSpec, { random, echo, tls }: ProbeEnvironment): Probe {
  switch (spec.kind) {
    case 'http':
      return httpCheck(spec, tls);
    case 'tcp':
      return tcpCheck(spec, tls);
    case 'udp':
      return udpCheck(spec, echo);
    case 'grpc':
      return grpcCheck(spec, tls);
    case 'dns':
      return dnsCheck(spec, random);
    case 'smtp':
      return smtpCheck(spec);
    case 'ssh':
      return sshCheck();
    case 'redis':
      return redisCheck(spec);
    case 'mqtt':
      return mqttCheck(spec);
    case 'quic':
      return quicCheck(random);
  }
}
