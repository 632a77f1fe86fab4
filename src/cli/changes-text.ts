import type { ConfigChange } from '../control-plane/reload/changes.ts';

const SIGNS: Readonly<Record<ConfigChange['change'], string>> = { added: '+', removed: '-', changed: '~' };

/** One indented line a change, newlines included; '' for none. */
export function changesText(changes: readonly ConfigChange[]): string {
  return changeLines(changes)
    .map((line) => `  ${line}\n`)
    .join('');
}

/** `~ pool 91ab77c01d2e: +app-4:3000; 25.1 % of its clients move` */
export function changeLines(changes: readonly ConfigChange[]): string[] {
  return changes.map(({ change, what, name, detail, moved }) => {
    const share = moved === null ? '' : `; ${(100 * moved).toFixed(1)} % of its clients move`;
    return `${SIGNS[change]} ${what} ${name}${detail === '' ? '' : `: ${detail}`}${share}`;
  });
}
