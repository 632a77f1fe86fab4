/** Which content coding a client gets (RFC 9110 section 12.5.3). */

const MIN_WEIGHT = 0.001;

/**
 * The first of `names` (lower case, preferred first) with the highest weight in `accepted`, a joined Accept-Encoding;
 * null = none of them is acceptable. An unreadable weight counts as 1.
 */
export function preferredCoding<T extends string>(accepted: string, names: readonly T[]): T | null {
  if (accepted === '') return null;
  const weights = weightsOf(accepted);
  const others = weights.get('*') ?? 0;
  let best: T | null = null;
  let bestWeight = 0;
  for (const name of names) {
    const weight = weights.get(name) ?? others;
    if (weight < MIN_WEIGHT || weight <= bestWeight) continue;
    best = name;
    bestWeight = weight;
  }
  return best;
}

function weightsOf(accepted: string): Map<string, number> {
  const weights = new Map<string, number>();
  for (const member of accepted.split(',')) {
    const [coding, ...parameters] = member.split(';');
    weights.set(coding!.trim().toLowerCase(), weightOf(parameters));
  }
  return weights;
}

function weightOf(parameters: readonly string[]): number {
  for (const parameter of parameters) {
    const [, digits] = /^\s*q=(\d(?:\.\d*)?)\s*$/i.exec(parameter) ?? [];
    if (digits !== undefined) return Math.min(1, Number(digits));
  }
  return 1;
}
