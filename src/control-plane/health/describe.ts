import type { CheckSpec } from '../compile/compiled.ts';
import { formatDuration } from '../config/schema/duration.ts';
import type { ProbeSpec } from './probe-spec.ts';

/** `http GET /healthz every 10s` */
export function describeCheck(spec: CheckSpec): string {
  return `${describeProbe(spec.probe)} every ${formatDuration(spec.intervalMs)}`;
}

function describeProbe(probe: ProbeSpec): string {
  switch (probe.kind) {
    case 'http':
      return `${probe.tls === null ? 'http' : 'https'} ${probe.method} ${probe.uri}`;
    case 'dns':
      return `dns ${probe.type} ${probe.name === '' ? '.' : probe.name}`;
    case 'grpc':
      return probe.service === '' ? 'grpc' : `grpc ${probe.service}`;
    case 'tcp':
      return probe.script.length === 0 ? 'tcp' : 'tcp with script';
    case 'udp':
      return probe.expect === null ? 'udp' : 'udp with answer';
    default:
      return probe.kind;
  }
}
