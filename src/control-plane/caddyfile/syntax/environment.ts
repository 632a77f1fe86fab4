const REFERENCE = /\{\$([^{}:\n]+)(?::([^{}\n]*))?\}/g;

/**
 * Replaces `{$NAME}` and `{$NAME:default}` in the text, before it is cut into tokens: a value may hold
 * several of them. The default stands in only for a variable that is unset. Values are not searched again.
 */
export function substituteEnvironment(text: string, env: Readonly<Record<string, string | undefined>>): string {
  return text.replace(REFERENCE, (_whole, name: string, fallback: string | undefined) => env[name] ?? fallback ?? '');
}
