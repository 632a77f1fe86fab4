/** The word somebody probably meant. */

/** More than two slips are another word. */
const MAX_DISTANCE = 2;

/** The one of `words` that is nearest to `word`, null when none is near. */
export function nearestWord(word: string, words: readonly string[]): string | null {
  let best: string | null = null;
  let bestDistance = MAX_DISTANCE + 1;
  for (const candidate of words) {
    if (Math.abs(candidate.length - word.length) > MAX_DISTANCE) continue;
    const distance = editDistance(word, candidate);
    if (distance < bestDistance && distance < candidate.length / 2) {
      best = candidate;
      bestDistance = distance;
    }
  }
  return best;
}

/** Levenshtein distance, one row at a time. */
function editDistance(left: string, right: string): number {
  let row = Array.from({ length: right.length + 1 }, (_, index) => index);
  for (const [index, letter] of [...left].entries()) {
    const next = [index + 1];
    for (let at = 0; at < right.length; at += 1) {
      const replaced = (row[at] ?? 0) + (right[at] === letter ? 0 : 1);
      next.push(Math.min(replaced, (row[at + 1] ?? 0) + 1, (next[at] ?? 0) + 1));
    }
    row = next;
  }
  return row.at(-1) ?? 0;
}
