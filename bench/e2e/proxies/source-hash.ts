/** Affinity of the two proxies made of Node's own parts: the same client, the same backend. */
export function sourceHash(address: string, backends: number): number {
  let hash = 2_166_136_261;
  for (let at = 0; at < address.length; at += 1) hash = Math.imul(hash ^ address.charCodeAt(at), 16_777_619);
  return (hash >>> 0) % backends;
}
