/** The names a certificate is for, out of the text that Node makes of them. PURE. */

export interface AlternativeName {
  /** `DNS`, `IP Address`, `email`, `URI`, `DirName`, `Registered ID`, `othername`. */
  readonly kind: string;
  readonly value: string;
}

/** A value with a comma, a quote or a control character is written as a JSON text: nothing in it can pass for another name. */
const ENTRY = /([^:,"]+):("(?:[^"\\]|\\.)*"|[^,"]*)(?:, |$)/y;

/** `text` is `X509Certificate.subjectAltName`. What follows something unreadable is left out. */
export function parseAlternativeNames(text: string | undefined): AlternativeName[] {
  const names: AlternativeName[] = [];
  const entry = new RegExp(ENTRY);
  for (let found = entry.exec(text ?? ''); found !== null; found = entry.exec(text ?? '')) {
    const value = unquote(found[2]!);
    if (value === null) break;
    names.push({ kind: found[1]!, value });
  }
  return names;
}

function unquote(text: string): string | null {
  if (!text.startsWith('"')) return text;
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'string' ? value : null;
  } catch {
    return null;
  }
}
