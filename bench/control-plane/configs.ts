/** Big configs: many sites with a pool each, and one pool of everything. All upstreams are loopback addresses. */
export interface BigConfig {
  readonly name: string;
  readonly text: string;
}

export const BIG_CONFIGS: readonly BigConfig[] = [
  { name: '1,000 sites x 50', text: manySites(1000, 50, 0) },
  { name: 'one pool of 50,000', text: onePool(50_000, 0) },
];

/** The same with one site or upstream changed, for a reload. */
export const CHANGED_CONFIGS: readonly BigConfig[] = [
  { name: '1,000 sites x 50', text: manySites(1000, 50, 1) },
  { name: 'one pool of 50,000', text: onePool(50_000, 1) },
];

function manySites(sites: number, size: number, changed: number): string {
  const blocks = Array.from({ length: sites }, (_, site) => {
    const upstreams = Array.from({ length: size }, (_member, at) =>
      addressOf(site * size + at + (site < changed ? 1 : 0)),
    );
    return `http://site-${site}.example.com:0 {\n\treverse_proxy ${upstreams.join(' ')} {\n\t\tlb_policy round_robin\n\t}\n}\n`;
  });
  return `{\n\tdefault_bind 127.0.0.1\n\tauto_https off\n}\n${blocks.join('')}`;
}

function onePool(size: number, changed: number): string {
  const lines = Array.from({ length: size }, (_, at) => `\t\tto ${addressOf(at + changed)}\n`);
  return `{\n\tdefault_bind 127.0.0.1\n\tauto_https off\n}\nhttp://:0 {\n\treverse_proxy {\n${lines.join('')}\t\tlb_policy ip_hash {\n\t\t\tseed 1\n\t\t}\n\t}\n}\n`;
}

/** 127.16.0.0 and up, one address each. */
function addressOf(index: number): string {
  return `127.${16 + (index >> 16)}.${(index >> 8) & 255}.${index & 255}:8080`;
}
