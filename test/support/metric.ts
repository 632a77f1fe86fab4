/** One sample of a metrics text, e.g. `valueOf(text, 'holdfast_ready')`; NaN when there is none such. */
export function valueOf(text: string, name: string, labels: Readonly<Record<string, string>> = {}): number {
  const found = text.split('\n').find((line) => {
    const series = line.slice(0, line.lastIndexOf(' '));
    const named = series === name || series.startsWith(`${name}{`);
    return named && Object.entries(labels).every(([label, value]) => series.includes(`${label}="${value}"`));
  });
  return found === undefined ? Number.NaN : Number(found.slice(found.lastIndexOf(' ') + 1));
}
