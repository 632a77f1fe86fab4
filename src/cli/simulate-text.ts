import type { Failure, MemberShare, Simulation } from '../control-plane/explain/simulation.ts';

/** Members shown of a large pool: the busiest ones. */
const MAX_MEMBERS = 20;
const KEYED: Readonly<Record<Simulation['keyed'], string>> = {
  client: 'each client has its server',
  nothing: 'no client has a server of its own: shares are those of requests',
  request: 'the request decides, not the client: shares by client say little',
};

export function simulationText(simulation: Simulation): string {
  const { pool, layer, policy, keyed, clients, members, unserved, advice } = simulation;
  const refusal = layer === 'http' ? 'get a 503' : 'get no server';
  const shown = members.toSorted((a, b) => b.clients - a.clients).slice(0, MAX_MEMBERS);
  const order = members.length > MAX_MEMBERS ? shown : members;
  const width = Math.max(8, ...order.map(({ upstream }) => upstream.length));
  const lines = [
    `pool ${pool}: ${policy} over ${members.length} upstreams, ${clients} clients`,
    KEYED[policy === 'cookie' && keyed === 'nothing' ? 'client' : keyed],
    '',
    `  ${'upstream'.padEnd(width)}   share  when it fails`,
    ...order.map((member) => memberLine(member, width, clients, refusal)),
  ];
  if (members.length > MAX_MEMBERS) lines.push(`  … and ${members.length - MAX_MEMBERS} more`);
  if (unserved > 0)
    lines.push('', `${percent(unserved, clients)} of the clients ${refusal}: no upstream may be picked`);
  for (const { what, lines: mending } of advice)
    lines.push('', `uneven: ${what}:`, ...mending.map((line) => `  ${line}`));
  return `${lines.join('\n')}\n`;
}

function memberLine(
  { upstream, down, clients: own, failure }: MemberShare,
  width: number,
  clients: number,
  refusal: string,
): string {
  const share = down ? 'down' : percent(own, clients);
  return `  ${upstream.padEnd(width)}  ${share.padStart(6)}  ${failure === null ? '' : failureText(failure, own, clients, refusal)}`.trimEnd();
}

function failureText({ own, others, lost }: Failure, had: number, clients: number, refusal: string): string {
  if (lost > 0) return `${percent(lost, clients)} ${refusal}`;
  if (had > 0 && own === 0) return 'nobody moves: all are tried while all are down';
  const moved = `${percent(own, clients)} move`;
  return others === 0
    ? `${moved}, nobody else`
    : `${moved}, and ${percent(others, clients)} of other upstreams' clients`;
}

function percent(part: number, whole: number): string {
  return `${whole === 0 ? '0.0' : ((100 * part) / whole).toFixed(1)} %`;
}
