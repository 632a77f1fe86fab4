/** The `dial` text of an upstream of a layer-4 server. */
import { splitHostPort } from '../../../shared/net/address.ts';
import { readUpstream } from '../upstream-address.ts';
import type { UpstreamAddress } from '../upstream-address.ts';

const UDP = 'udp/';
const TCP = 'tcp/';

/** `host:port` (with or without `tcp/`) and `unix/<path>` under TCP, `udp/host:port` under UDP. There is no default port. */
export function readLayer4Upstream(dial: string, network: 'tcp' | 'udp'): UpstreamAddress {
  if (/[{}]/.test(dial)) return { notYet: 'placeholders in upstreams' };
  const isUdp = dial.toLowerCase().startsWith(UDP);
  if (isUdp && network === 'tcp') {
    return { fault: `'${dial}' is a UDP upstream under a TCP listener: write ${dial.slice(UDP.length)}` };
  }
  if (!isUdp && network === 'udp') {
    const address = dial.toLowerCase().startsWith(TCP) ? dial.slice(TCP.length) : dial;
    const advice = dial.startsWith('unix/') ? 'name a server as udp/host:port' : `write udp/${address}`;
    return { fault: `'${dial}' is no UDP upstream, and stands under a UDP listener: ${advice}` };
  }
  if (dial.startsWith('unix/')) return readUpstream(dial);
  const address = dial.replace(/^(?:tcp|udp)\//i, '');
  if (address.startsWith('unix/')) {
    const advice = network === 'udp' ? 'a UDP server has host:port' : `write ${address}`;
    return { fault: `'${dial}' is no upstream address: ${advice}` };
  }
  return readInternet(dial, address, network);
}

function readInternet(dial: string, address: string, network: 'tcp' | 'udp'): UpstreamAddress {
  if (!address.includes('/') && splitHostPort(address)?.port === null) {
    return { fault: `'${dial}' is no upstream address: write host:port, layer 4 has no default port` };
  }
  const read = readUpstream(address);
  if (!('member' in read)) return read;
  return { member: { ...read.member, upstream: dial, ...(network === 'udp' ? { network } : {}) } };
}
