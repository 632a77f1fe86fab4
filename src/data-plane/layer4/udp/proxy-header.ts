/** The PROXY protocol v2 on datagrams: the stream's header with another transport (proxy-protocol.txt 2.2). */
import { readProxyHeader } from '../../../shared/net/proxy-header-reader.ts';
import { proxyHeader, type ProxiedClient } from '../../../shared/net/proxy-header.ts';
import type { FlowRequest } from '../flow-request.ts';
import type { FlowView } from '../flow-view.ts';

/** Family and transport: the byte behind signature and command. */
const FAMILY_AT = 13;
/** The low half of that byte: SOCK_STREAM, SOCK_DGRAM. */
const TRANSPORT_MASK = 0x0f;
const STREAM = 1;
const DGRAM = 2;

export function datagramHeader(of: ProxiedClient): Buffer {
  const header = Buffer.from(proxyHeader('v2', of), 'latin1');
  const family = header[FAMILY_AT]!;
  // A LOCAL header says nothing of a transport.
  if ((family & TRANSPORT_MASK) === STREAM) header[FAMILY_AT] = (family & ~TRANSPORT_MASK) | DGRAM;
  return header;
}

/** Takes the header off the datagram and believes it. False: there is none, or a broken one. */
export function takeHeader(view: FlowView, request: FlowRequest): boolean {
  const header = readProxyHeader(view.bytes, 'datagram');
  if (typeof header === 'string') return false;
  view.bytes = view.bytes.subarray(header.length);
  if (header.ends === null) return true;
  const { source, sourcePort, destination, destinationPort } = header.ends;
  request.replaceEnds(source, sourcePort, { localAddress: destination.text, localPort: destinationPort });
  view.client = source;
  return true;
}

/** A later datagram of a session that began with a header: some senders put one in front of the first only. */
export function withoutHeader(data: Buffer): Buffer {
  const header = readProxyHeader(data, 'datagram');
  return typeof header === 'string' ? data : data.subarray(header.length);
}
