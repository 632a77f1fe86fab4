/** The PROXY header that a connection to a server begins with. */
import { randomUUID } from 'node:crypto';
import { proxyHeader, type ProxiedClient } from '../../shared/net/proxy-header.ts';
import { TLV_AUTHORITY, TLV_UNIQUE_ID, withTlvs, type ProxyTlv } from '../../shared/net/proxy-tlvs.ts';
import type { ProxyTlvPlan } from '../../shared/plan/layer4.ts';

/** `serverName`: what the client's ClientHello asks for, '' = unknown. */
export function connectionHeader(
  version: 'v1' | 'v2',
  plans: readonly ProxyTlvPlan[] | undefined,
  client: ProxiedClient,
  serverName: string,
): Buffer {
  const header = proxyHeader(version, client);
  if (plans === undefined) return Buffer.from(header, 'latin1');
  const tlvs = plans.flatMap((plan) => tlvOf(plan, serverName) ?? []);
  const checksum = plans.some(({ kind }) => kind === 'crc32c');
  return withTlvs(header, tlvs, checksum);
}

/** null = there is nothing to say, or it is the checksum, which comes last. */
function tlvOf(plan: ProxyTlvPlan, serverName: string): ProxyTlv | null {
  switch (plan.kind) {
    case 'crc32c':
      return null;
    case 'authority':
      return serverName === '' ? null : { type: TLV_AUTHORITY, value: serverName };
    case 'unique_id':
      return { type: TLV_UNIQUE_ID, value: randomUUID() };
    case 'fixed':
      return { type: plan.type, value: plan.value };
  }
}
