/** Receivers that access lines are sent to. */
import { splitHostPort } from '../../shared/net/address.ts';
import type { AccessSink } from '../../shared/plan/types.ts';
import type { LoggingConfig } from '../config/schema/logging.ts';
import type { NetWriterConfig } from '../config/schema/log-writer.ts';
import type { Compilation } from './compilation.ts';
import type { LogNetSpec } from './compiled.ts';

const NETWORKS: Readonly<Record<string, LogNetSpec['network']>> = {
  tcp: 'tcp',
  tcp4: 'tcp',
  tcp6: 'tcp',
  udp: 'udp',
  udp4: 'udp',
  udp6: 'udp',
  unix: 'unix',
};

export function netSinkOf(address: string): AccessSink {
  return `net/${address}`;
}

/** One receiver may be named by several logs, if they agree on how it is reached. */
export function compileLogNets(run: Compilation, { logs }: LoggingConfig): LogNetSpec[] {
  const specs = new Map<AccessSink, LogNetSpec>();
  for (const [name, { writer }] of Object.entries(logs)) {
    if (writer?.output !== 'net') continue;
    const path = `logging.logs.${name}.writer`;
    const spec = compileNet(run, path, writer);
    const other = specs.get(spec.sink);
    if (other !== undefined && JSON.stringify(other) !== JSON.stringify(spec)) {
      run.fail(path, `two logs are sent to ${spec.address} with different options: give both the same ones`);
    }
    specs.set(spec.sink, spec);
  }
  return [...specs.values()];
}

function compileNet(run: Compilation, path: string, writer: NetWriterConfig): LogNetSpec {
  const { address, dial_timeout: dialTimeoutMs, soft_start: softStart } = writer;
  if (/[{}]/.test(address)) run.notYet(`${path}.address`, 'placeholders in addresses of log receivers');
  const slash = address.indexOf('/');
  const network = slash < 0 ? 'tcp' : address.slice(0, slash);
  const rest = address.slice(slash + 1);
  const kind = Object.hasOwn(NETWORKS, network) ? NETWORKS[network] : undefined;
  if (kind === undefined)
    run.fail(`${path}.address`, `'${network}/' is no network of a log: write tcp/, udp/ or unix/`);
  const common = { sink: netSinkOf(address), address, dialTimeoutMs, softStart };
  if (kind === 'unix') return { ...common, network: kind, host: '', port: 0, path: rest };
  const parts = splitHostPort(rest);
  if (parts === null || parts.port === null || parts.port === 0 || parts.host === '') {
    run.fail(`${path}.address`, `'${address}' is no address of a log receiver: write host:port`);
  }
  return { ...common, network: kind, host: parts.host, port: parts.port, path: '' };
}
