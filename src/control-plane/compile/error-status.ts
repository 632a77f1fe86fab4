/** The expressions that `handle_errors <codes>` becomes, read back: comparing a number needs no CEL per request. */

const STATUS = String.raw`\{http\.error\.status_code\}`;
const CLASS = new RegExp(`^${STATUS} >= ([1-9])00 && ${STATUS} <= (?:\\1)99$`);
const CODES = new RegExp(`^${STATUS} in \\[(\\d{3}(?:, \\d{3})*)\\]$`);

/** Codes, and classes as 1 to 9; null for any other expression. */
export function errorStatusOf(expression: string): number[] | null {
  const found: number[] = [];
  for (const term of expression.split(' || ')) {
    const codes = CODES.exec(term)?.[1]?.split(', ') ?? [];
    const numbers = [...codes, CLASS.exec(term)?.[1] ?? ''].filter((text) => text !== '').map(Number);
    if (numbers.length === 0) return null;
    found.push(...numbers);
  }
  return found;
}
