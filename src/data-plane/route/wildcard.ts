/** `*`, `*x`, `x*`, `*x*`: the wildcards of header matchers and header deletion. Any other star is itself. */

export type WildcardTest = (text: string) => boolean;

export function compileWildcard(pattern: string): WildcardTest {
  if (pattern === '*') return () => true;
  const leads = pattern.startsWith('*');
  const trails = pattern.endsWith('*');
  const core = pattern.slice(leads ? 1 : 0, trails ? -1 : undefined);
  if (leads && trails) return (text) => text.includes(core);
  if (leads) return (text) => text.endsWith(core);
  if (trails) return (text) => text.startsWith(core);
  return (text) => text === pattern;
}
