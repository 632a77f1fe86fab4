/** The PROXY header that a connection to a server begins with. */
import { randomUUID } from 'node:crypto';
import { proxyHeader, type ProxiedClient } from '../../shared/net/proxy-header.ts';
import { TLV_AUTHORITY, TLV_SSL, TLV_UNIQUE_ID, withTlvs, type ProxyTlv } from '../../shared/net/proxy-tlvs.ts';
import type { ProxyTlvPlan } from '../../shared/plan/layer4.ts';
import type { TlsFacts } from '../route/tls-facts.ts';
import { sslTlv } from './ssl-tlv.ts';

/** What is known of a client besides its address. */
export interface ClientTls {
  /** The name it asks for, '' = unknown. */
  readonly serverName: string;
  /** null = its bytes are as they came. */
  readonly tls: TlsFacts | null;
}

export function connectionHeader(
  version: 'v1' | 'v2',
  plans: readonly ProxyTlvPlan[] | undefined,
  client: ProxiedClient,
  secured: ClientTls,
): Buffer {
  const header = proxyHeader(version, client);
  if (plans === undefined) return Buffer.from(header, 'latin1');
  const tlvs = plans.flatMap((plan) => tlvOf(plan, secured) ?? []);
  const checksum = plans.some(({ kind }) => kind === 'crc32c');
  return withTlvs(header, tlvs, checksum);
}

/** null = there is nothing to say, or it is the checksum, which comes last. */
function tlvOf(plan: ProxyTlvPlan, { serverName, tls }: ClientTls): ProxyTlv | null {
  switch (plan.kind) {
    case 'crc32c':
      return null;
    case 'authority':
      return serverName === '' ? null : { type: TLV_AUTHORITY, value: serverName };
    case 'ssl':
      return tls === null ? null : { type: TLV_SSL, value: sslTlv(tls) };
    case 'unique_id':
      return { type: TLV_UNIQUE_ID, value: randomUUID() };
    case 'fixed':
      return { type: plan.type, value: plan.value };
  }
}
