/** `apps.layer4`: servers that balance TCP connections and UDP sessions. */
import type { Layer4Options, Layer4Section, Layer4ServerPlan, UdpOptions } from '../../../shared/plan/layer4.ts';
import type { ConnectionLimits, SectionHash } from '../../../shared/plan/types.ts';
import type { Layer4AppConfig } from '../../config/schema/layer4/app.ts';
import type { Layer4ServerConfig } from '../../config/schema/layer4/server.ts';
import type { Compilation } from '../compilation.ts';
import type { ListenerSpec } from '../compiled.ts';
import { hashContent } from '../content-hash.ts';
import { compileListeners } from '../listeners.ts';
import { compileLayer4Routes } from './routes.ts';
import type { ServedTls } from './tls.ts';

const MATCHING_MS = 3000;
const TCP_IDLE_MS = 900_000;
const UDP_IDLE_MS = 20_000;
const DEFAULT_SESSIONS = 65_536;
const DEFAULT_BUFFER_BYTES = 4 * 1024 * 1024;

/** Options that mean something for one network only, and what to write for the other. */
const UDP_ONLY = ['workers', 'max_sessions', 'receive_buffer', 'responses'] as const;
const TCP_ONLY = ['connections', 'accept'] as const;
const INSTEAD: Readonly<Record<(typeof TCP_ONLY)[number], string>> = {
  connections: ': write max_sessions',
  accept: ': one worker has the socket; write workers all for one in each',
};

type ServerWithoutRow = Omit<Layer4ServerPlan, 'row'>;

/** `claim` adds the listeners of a server to those of all, and refuses one that somebody has. */
export function compileLayer4(
  run: Compilation,
  app: Layer4AppConfig,
  https: ServedTls,
  claim: (path: string, own: readonly ListenerSpec[]) => void,
): ServerWithoutRow[] {
  return Object.entries(app.servers).map(([name, server]) => {
    const path = `apps.layer4.servers.${name}`;
    if (server.listen.length === 0) run.fail(path, `layer4 server ${name} has no listen address`);
    const listeners = compileListeners(run, `${path}.listen`, server.listen, server.accept, ['tcp', 'udp', 'unix']);
    const network = networkOf(run, path, server, listeners);
    if (network === 'udp') warnUdp(run, path, server);
    claim(`${path}.listen`, network === 'udp' ? listeners.map((spec) => udpListener(spec, server)) : listeners);
    return {
      name,
      network,
      listeners: listeners.map(({ key }) => key),
      section: compileSection(run, path, server, network, https),
      options: compileOptions(server, network),
    };
  });
}

function networkOf(
  run: Compilation,
  path: string,
  server: Layer4ServerConfig,
  listeners: readonly ListenerSpec[],
): 'tcp' | 'udp' {
  const udp = listeners.find(({ network }) => network === 'udp');
  const stream = listeners.find(({ network }) => network !== 'udp');
  if (udp !== undefined && stream !== undefined) {
    const advice = 'write a block for the TCP addresses and one for the UDP addresses';
    run.fail(`${path}.listen`, `${stream.key} and ${udp.key} are in one layer4 server: ${advice}`);
  }
  const network = udp === undefined ? 'tcp' : 'udp';
  const foreign: readonly (keyof Layer4ServerConfig)[] = network === 'tcp' ? UDP_ONLY : TCP_ONLY;
  const option = foreign.find((name) => server[name] !== null);
  if (option === undefined) return network;
  const advice = option === 'connections' || option === 'accept' ? INSTEAD[option] : '';
  const [own, other] = network === 'tcp' ? ['TCP', 'UDP'] : ['UDP', 'TCP'];
  return run.fail(`${path}.${option}`, `${option} is for ${other}, and this layer4 server listens on ${own}${advice}`);
}

/** With `workers all` the kernel spreads clients over the sockets there are: one more or less moves most of them. */
function warnUdp(run: Compilation, path: string, server: Layer4ServerConfig): void {
  if (server.matching_timeout !== null) {
    const why = 'the first datagram chooses the route, nothing is waited for';
    run.warn(`${path}.matching_timeout`, 'matching_timeout', `matching_timeout has no effect over UDP: ${why}`);
  }
  if (server.workers !== 'all' || server.responses !== null) return;
  run.warn(
    `${path}.workers`,
    'workers',
    'workers all moves most clients to another worker, where their sessions begin anew, whenever a worker is replaced: ' +
      'it is for services that answer each datagram by itself. Add responses <n>, or write workers one',
  );
}

function udpListener(spec: ListenerSpec, server: Layer4ServerConfig): ListenerSpec {
  const { workers, receiveBufferBytes } = udpOptions(server);
  return { ...spec, owners: workers, receiveBufferBytes };
}

function compileSection(
  run: Compilation,
  path: string,
  server: Layer4ServerConfig,
  network: 'tcp' | 'udp',
  https: ServedTls,
): SectionHash {
  if (server.routes.length === 0) run.fail(path, 'this layer4 server has no route: add route { proxy <host:port> }');
  const pools = new Set<SectionHash>();
  const routes = compileLayer4Routes({ run, network, https, pools }, `${path}.routes`, server.routes);
  if (server.workers === 'all') checkWorkersAll(run, path, pools);
  const content: Omit<Layer4Section, 'hash'> = { kind: 'layer4', routes, pools: [...pools] };
  const hash = hashContent(content);
  run.sections.set(hash, { hash, ...content });
  return hash;
}

/** A worker knows the connections of its own sessions only. */
function checkWorkersAll(run: Compilation, path: string, pools: ReadonlySet<SectionHash>): void {
  for (const pool of pools) {
    const section = run.sections.get(pool);
    if (section?.kind !== 'pool' || section.policy.policy !== 'quic_cid') continue;
    const why = 'a client with a new address may reach a worker that does not know its connection';
    run.fail(`${path}.workers`, `workers all does not go with lb_policy quic_cid: ${why}. Write workers one`);
  }
}

function compileOptions(server: Layer4ServerConfig, network: 'tcp' | 'udp'): Layer4Options {
  return {
    idleTimeoutMs: server.idle_timeout ?? (network === 'tcp' ? TCP_IDLE_MS : UDP_IDLE_MS),
    matchingTimeoutMs: server.matching_timeout ?? MATCHING_MS,
    limits: compileLimits(server),
    newPerSecond: server.new_per_second ?? 0,
    udp: network === 'udp' ? udpOptions(server) : null,
  };
}

function compileLimits(server: Layer4ServerConfig): ConnectionLimits | null {
  if (server.connections === null && server.connections_per_source === null) return null;
  return { total: server.connections ?? 0, perSource: server.connections_per_source ?? 0 };
}

function udpOptions(server: Layer4ServerConfig): UdpOptions {
  return {
    workers: server.workers ?? 'one',
    maxSessions: server.max_sessions ?? DEFAULT_SESSIONS,
    receiveBufferBytes: server.receive_buffer ?? DEFAULT_BUFFER_BYTES,
    responses: server.responses ?? 0,
  };
}
