const REFERENCE = /\{\$([^{}:\n]+)(?::([^{}\n]*))?\}/g;

/**
 * Replaces `{$NAME}` and `{$NAME:default}` in the text, before it is cut into tokens: a value may hold
 * several of them. The default stands in only for a variable that is unset. Values are not searched again.
 * `unset` hears once of each variable outside comments that is unset and has no default: nothing stands in its place.
 */
export function substituteEnvironment(
  text: string,
  env: Readonly<Record<string, string | undefined>>,
  unset: (name: string, line: number) => void,
): string {
  const told = new Set<string>();
  return text.replace(REFERENCE, (_whole, name: string, fallback: string | undefined, offset: number) => {
    const value = env[name] ?? fallback;
    if (value !== undefined) return value;
    if (told.has(name) || isInComment(text, offset)) return '';
    told.add(name);
    unset(name, lineAt(text, offset));
    return '';
  });
}

/** A quoted # counts as one too: that costs no more than a warning. */
function isInComment(text: string, offset: number): boolean {
  return /(?:^|\s)#/.test(text.slice(text.lastIndexOf('\n', offset) + 1, offset));
}

function lineAt(text: string, offset: number): number {
  return text.slice(0, offset).split('\n').length;
}
