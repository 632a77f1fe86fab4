/** The way to a server over TCP: connect, PROXY header, TLS. */
import net, { isIP, type Socket } from 'node:net';
import { dialOptions, joinHostPort, splitHostPort } from '../../../shared/net/address.ts';
import { parseIp } from '../../../shared/net/ip.ts';
import { localProxyHeader, proxyHeader } from '../../../shared/net/proxy-header.ts';
import { describeTlsFault, startHandshake } from '../../../shared/net/upstream-tls.ts';
import { type Attempt, ProbeFault } from '../attempt.ts';
import type { ProbeOptions, ProbeTarget } from '../probe.ts';
import type { ReadyTls } from '../tls-contexts.ts';
import { isLocalTrouble } from './local-trouble.ts';

/** How long a connection that was ended politely may take to close. */
const LINGER_MS = 1000;

export interface ConnectionOptions extends Pick<ProbeOptions, 'authority' | 'localAddress' | 'proxyProtocol'> {
  readonly tls: ReadyTls | null;
  /** Offered in TLS. */
  readonly alpn?: string;
}

/** A connection that is ready for the first byte of the protocol. The attempt owns it. */
export async function connect(run: Attempt, target: ProbeTarget, options: ConnectionOptions): Promise<Socket> {
  const socket = run.own(
    net.connect({
      ...dialOptions(target.host, target.port),
      ...(options.localAddress === undefined ? {} : { localAddress: options.localAddress }),
    }),
  );
  const where = joinHostPort(target.host, target.port);
  run.onBroken = (error) => dialFault(error, target);
  run.onDeadline = () => {
    // The kernel has chosen it, and it is what a firewall on the way would have to let through.
    run.localAddress = localAddressOf(socket);
    return new ProbeFault('CONNECT_TIMEOUT', `no connection${run.from()} ${run.limit()}`);
  };
  socket.on('error', (error) => run.fail(run.onBroken(error)));
  run.step('sent', `connect to ${where} (SYN)`);
  await run.wait<void>((resolve) => socket.once('connect', () => resolve()));
  run.onBroken = (error) => brokenFault(error, 'before the answer was complete');
  run.localAddress = localAddressOf(socket);
  run.onDeadline = () => new ProbeFault('RECV_RESPONSE_TIMEOUT', `no complete response ${run.limit()}`);
  run.step('received', run.localAddress === '' ? 'connected' : `connected from ${run.localAddress} (SYN-ACK)`);
  sendPreface(run, socket, options.proxyProtocol);
  const { tls } = options;
  if (tls === null || tls.exceptPorts.includes(target.port)) return socket;
  return secure(run, socket, tls, { where, options });
}

/** FIN, then whatever the peer still says is read and dropped, for a second at most. */
export function part(run: Attempt, socket: Socket): void {
  run.disown(socket);
  run.step('sent', 'FIN');
  socket.resume();
  socket.end();
  const timer = run.clock.after(LINGER_MS, () => socket.destroy());
  socket.once('close', () => timer.cancel());
}

/** What an error of an established connection means; `when` is a clause. */
export function brokenFault(error: NodeJS.ErrnoException, when: string): ProbeFault {
  const code = error.code ?? error.message;
  if (isLocalTrouble(code)) return new ProbeFault('LOCAL_TROUBLE', `this machine broke the connection (${code})`);
  return new ProbeFault('CONNECT_INTERRUPT', `the connection broke ${when} (${code})`);
}

function dialFault(error: NodeJS.ErrnoException, target: ProbeTarget): ProbeFault {
  const code = error.code ?? error.message;
  if (isLocalTrouble(code)) return new ProbeFault('LOCAL_TROUBLE', `this machine could not connect (${code})`);
  return new ProbeFault('CONNECT_FAILED', `no connection to ${target.host} port ${target.port} (${code})`);
}

function localAddressOf({ localAddress = '', localPort = 0 }: Socket): string {
  return localAddress === '' ? '' : joinHostPort(localAddress, localPort);
}

/** v1 has no word for "nobody" that all servers take, so it names our own ends; v2 has LOCAL. */
function sendPreface(run: Attempt, socket: Socket, version: 'v1' | 'v2' | undefined): void {
  if (version === undefined) return;
  const { localAddress = '', localPort = 0, remoteAddress = '', remotePort = 0 } = socket;
  const own = parseIp(localAddress);
  const header =
    version === 'v2'
      ? localProxyHeader('v2')
      : proxyHeader('v1', {
          client: own,
          peer: own,
          peerPort: localPort,
          localAddress: remoteAddress,
          localPort: remotePort,
        });
  const bytes = Buffer.from(header, 'latin1');
  run.step('sent', `PROXY header ${version}`, bytes);
  socket.write(bytes);
}

async function secure(
  run: Attempt,
  socket: Socket,
  tls: ReadyTls,
  { where, options }: { readonly where: string; readonly options: ConnectionOptions },
): Promise<Socket> {
  const serverName = tls.serverName === '' ? ownName(options.authority) : tls.serverName;
  const session = startHandshake(socket, {
    verify: tls.verify,
    serverName,
    context: tls.context(),
    alpn: options.alpn === undefined ? [] : [options.alpn],
  });
  // The session closes the connection below it, and only when what was written has gone out.
  run.disown(socket);
  run.own(session);
  let ready = false;
  run.onBroken = (error) => new ProbeFault('TLS_FAILED', describeTlsFault(error, where, serverName));
  session.on('error', (error) => run.fail(run.onBroken(error)));
  // Node reports some ends in the middle of the handshake as errors, and some not at all.
  session.on('end', () => {
    if (!ready) run.fail(new ProbeFault('TLS_FAILED', 'no TLS session: the server closed the connection'));
  });
  run.step('sent', `TLS ClientHello${isIP(serverName) === 0 ? ` for ${serverName}` : ''}`);
  await run.wait<void>((resolve) => session.once('secureConnect', () => resolve()));
  ready = true;
  run.onBroken = (error) => brokenFault(error, 'before the answer was complete');
  run.step(
    'received',
    `${session.getProtocol() ?? 'TLS'} session, ${session.authorized ? 'certificate valid' : 'certificate not verified'}`,
  );
  return session;
}

function ownName(authority: string): string {
  return splitHostPort(authority)?.host ?? 'localhost';
}
