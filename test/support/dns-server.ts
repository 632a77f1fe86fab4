/** A DNS server on a free loopback UDP port, answering from a table (RFC 1035, as little as tests need). */
import dgram from 'node:dgram';

export interface DnsRecord {
  readonly type: 'A' | 'AAAA' | 'SRV';
  /** Dotted IPv4, the 32 hex digits of an IPv6 address, or the name and port of an SRV target: `host:port`. */
  readonly address: string;
  /** Seconds. */
  readonly ttl: number;
}

export interface DnsServer {
  /** `ip:port` */
  readonly address: string;
  close(): void;
}

const TYPES: Readonly<Record<DnsRecord['type'], number>> = { A: 1, AAAA: 28, SRV: 33 };
const NAME_ERROR = 3;

/** `failure`: response code for every question instead of an answer (2 = SERVFAIL). */
export async function startDnsServer(
  records: Readonly<Record<string, readonly DnsRecord[]>>,
  failure: number = 0,
): Promise<DnsServer> {
  const socket = dgram.createSocket('udp4');
  socket.on('error', () => {});
  socket.on('message', (query, peer) => socket.send(answer(query, records, failure), peer.port, peer.address));
  await new Promise<void>((resolve) => socket.bind(0, '127.0.0.1', resolve));
  return { address: `127.0.0.1:${socket.address().port}`, close: () => socket.close() };
}

function answer(query: Buffer, records: Readonly<Record<string, readonly DnsRecord[]>>, failure: number): Buffer {
  const labels: string[] = [];
  let at = 12;
  for (let length = query[at]!; length > 0; length = query[at]!) {
    labels.push(query.toString('latin1', at + 1, at + 1 + length));
    at += 1 + length;
  }
  const type = query.readUInt16BE(at + 1);
  const question = query.subarray(12, at + 5);
  const known = records[labels.join('.').toLowerCase()];
  const found = failure === 0 ? (known ?? []).filter((record) => TYPES[record.type] === type) : [];
  const head = Buffer.alloc(12);
  query.copy(head, 0, 0, 2);
  head.writeUInt16BE(0x8180 | (failure || (known === undefined ? NAME_ERROR : 0)), 2);
  head.writeUInt16BE(1, 4);
  head.writeUInt16BE(found.length, 6);
  return Buffer.concat([head, question, ...found.map(resourceRecord)]);
}

function resourceRecord(record: DnsRecord): Buffer {
  const data = recordData(record);
  const head = Buffer.alloc(12);
  // A pointer to the name in the question.
  head.writeUInt16BE(0xc00c, 0);
  head.writeUInt16BE(TYPES[record.type], 2);
  head.writeUInt16BE(1, 4);
  head.writeUInt32BE(record.ttl, 6);
  head.writeUInt16BE(data.length, 10);
  return Buffer.concat([head, data]);
}

function recordData({ type, address }: DnsRecord): Buffer {
  if (type === 'A') return Buffer.from(address.split('.').map(Number));
  if (type === 'AAAA') return Buffer.from(address, 'hex');
  const [host = '', port = '0'] = address.split(':');
  const numbers = Buffer.alloc(6);
  numbers.writeUInt16BE(10, 0);
  numbers.writeUInt16BE(Number(port), 4);
  const labels = host.split('.').map((label) => Buffer.from([label.length, ...Buffer.from(label, 'latin1')]));
  return Buffer.concat([numbers, ...labels, Buffer.from([0])]);
}
