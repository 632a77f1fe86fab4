import type { ServedSite } from './site.ts';

/** Only the first site that matches runs: longer hosts first, wildcards later, those for all hosts last. Stable. */
export function sortBySpecificity(sites: readonly ServedSite[]): ServedSite[] {
  const ranked = sites.map((served) => ({ served, rank: rankOf(served) }));
  return ranked.toSorted((left, right) => compareRanks(left.rank, right.rank)).map(({ served }) => served);
}

interface Rank {
  readonly host: number;
  readonly path: number;
  readonly wild: boolean;
}

function rankOf({ addresses }: ServedSite): Rank {
  return {
    host: addresses.reduce((most, { host }) => Math.max(most, specificity(host)), 0),
    path: addresses.reduce((most, { path }) => Math.max(most, specificity(path)), 0),
    wild: addresses.some(({ host }) => host === '' || host.includes('*')),
  };
}

function compareRanks(left: Rank, right: Rank): number {
  if ((left.host === 0) !== (right.host === 0)) return left.host === 0 ? 1 : -1;
  if (left.wild !== right.wild) return left.wild ? 1 : -1;
  return right.host - left.host || right.path - left.path;
}

/** Length without wildcards and placeholders. */
function specificity(text: string): number {
  return text.replace(/\{[^}]*\}|\*/g, '').length;
}
