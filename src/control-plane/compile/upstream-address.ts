/** The `dial` text of an upstream, and of whatever else is dialled. */
import { isIPv6 } from 'node:net';
import { splitHostPort } from '../../shared/net/address.ts';
import type { MemberSpec } from './compiled.ts';

const DEFAULT_PORT = 80;
/** `sun_path` holds 108 bytes with its final NUL on Linux, 104 on others. */
const MAX_UNIX_PATH_BYTES = 103;
/** Names as resolvers take them; the underscore is common in container networks. */
const HOST_NAME = /^[A-Za-z0-9_](?:[A-Za-z0-9_.-]*[A-Za-z0-9_.])?$/;

export type UpstreamAddress =
  | { readonly member: MemberSpec }
  /** A word of Caddy's that does not exist yet. */
  | { readonly notYet: string }
  | { readonly fault: string };

/**
 * Reads `host`, `host:port`, `:port` (this machine), `[v6]:port`, all with or without `tcp/`, and `unix/<path>`.
 * `defaultPort` is 443 for upstreams behind TLS.
 */
export function readUpstream(dial: string, defaultPort: number = DEFAULT_PORT): UpstreamAddress {
  if (/[{}]/.test(dial)) return { notYet: 'placeholders in upstreams' };
  const scheme = /^([a-z0-9]+):\/\//i.exec(dial)?.[1];
  if (scheme !== undefined) return fault(dial, `write host:port, without ${scheme}://`);
  const slash = dial.indexOf('/');
  const network = slash < 0 ? 'tcp' : dial.slice(0, slash).toLowerCase();
  if (network === 'unix') return readUnix(dial, dial.slice(slash + 1));
  if (network !== 'tcp') return readNetwork(dial, network);
  return readTcp(dial, slash < 0 ? dial : dial.slice(slash + 1), defaultPort);
}

function readNetwork(dial: string, network: string): UpstreamAddress {
  const known = /^(unix|udp|tcp|ip|fd)[a-z0-9+]*$/.test(network);
  return known ? { notYet: `${network}/ upstreams` } : fault(dial, 'an upstream is an address, without a path');
}

/** The configured text is the identity, and stands for itself as an address. */
function readUnix(dial: string, path: string): UpstreamAddress {
  const bytes = Buffer.byteLength(path);
  if (bytes === 0 || bytes > MAX_UNIX_PATH_BYTES || path.includes('\0')) {
    const advice = `write unix/ and the path of the socket, at most ${MAX_UNIX_PATH_BYTES} bytes`;
    return fault(dial, `${advice}: unix//run/app.sock`);
  }
  return { member: { upstream: dial, identity: dial, host: `unix/${path}`, port: 0 } };
}

function readTcp(dial: string, address: string, defaultPort: number): UpstreamAddress {
  const parts = splitHostPort(address);
  if (parts === null) return fault(dial, 'write host:port with a port from 1 to 65535');
  const { host } = parts;
  const port = parts.port ?? defaultPort;
  if (address === '' || port === 0) return fault(dial, 'write host:port with a port from 1 to 65535');
  if (host !== '' && !isIPv6(host) && !HOST_NAME.test(host)) return fault(dial, `'${host}' is no host name`);
  return {
    member: {
      upstream: dial,
      identity: identityOf(address, defaultPort),
      host: host === '' ? 'localhost' : host,
      port,
    },
  };
}

/** Affinity outlives a default port that was written out or left out. `2001:db8::80` has no port to cut. */
function identityOf(address: string, defaultPort: number): string {
  const port = `:${defaultPort}`;
  return address.endsWith(port) && address !== port && !isIPv6(address) ? address.slice(0, -port.length) : address;
}

function fault(dial: string, advice: string): UpstreamAddress {
  return { fault: `'${dial}' is no upstream address: ${advice}` };
}
