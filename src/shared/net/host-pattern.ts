/** Names of certificates and of ClientHellos. PURE. */

/** What a name may be found under: itself, then with `*` in place of its first label, its first two, … */
export function lookupNames(name: string): string[] {
  const labels = name.split('.');
  const names = [name];
  if (/^[\d.]+$|:/.test(name)) return names;
  for (let at = 0; at < labels.length; at += 1) {
    labels[at] = '*';
    names.push(labels.join('.'));
  }
  return names;
}

/** `*` stands for one label. */
export function matchesName(pattern: string, name: string): boolean {
  if (pattern === name) return true;
  if (!pattern.includes('*')) return false;
  const wanted = pattern.split('.');
  const labels = name.split('.');
  return wanted.length === labels.length && wanted.every((label, at) => label === '*' || label === labels[at]);
}
