/** A strict reader of the Prometheus text format 0.0.4, for tests. Throws at the first fault. */
export interface Family {
  readonly type: string;
  readonly help: string;
  readonly samples: Map<string, number>;
}

export interface Exposition {
  readonly families: ReadonlyMap<string, Family>;
  /** All series, `name{labels}` as written → value. */
  readonly series: ReadonlyMap<string, number>;
}

const NAME = /^[a-zA-Z_:][a-zA-Z0-9_:]*/;
const LABEL = /^([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\\n]|\\[\\"n])*)"(,|\})/;
const SUFFIXES: Readonly<Record<string, readonly string[]>> = { histogram: ['_bucket', '_sum', '_count'] };

export function parseExposition(text: string): Exposition {
  if (!text.endsWith('\n')) throw new Error('the last line has no newline');
  const families = new Map<string, { type: string; help: string; samples: Map<string, number> }>();
  const series = new Map<string, number>();
  let current = '';
  for (const line of text.slice(0, -1).split('\n')) {
    const meta = /^# (HELP|TYPE) (\S+) (.*)$/.exec(line);
    if (meta !== null) {
      const [, kind, name = '', rest = ''] = meta;
      if (kind === 'HELP' && families.has(name)) throw new Error(`${name} is there twice`);
      const family = families.get(name) ?? { type: '', help: '', samples: new Map<string, number>() };
      families.set(name, kind === 'HELP' ? { ...family, help: rest } : { ...family, type: rest });
      current = name;
      continue;
    }
    const [key, value] = parseSample(line);
    const family = families.get(current);
    const name = NAME.exec(key)?.[0] ?? '';
    if (family === undefined || !namesOf(current, family.type).includes(name)) throw new Error(`stray sample: ${line}`);
    if (series.has(key)) throw new Error(`series is there twice: ${key}`);
    series.set(key, value);
    family.samples.set(key, value);
  }
  return { families, series };
}

function namesOf(name: string, type: string): string[] {
  return (SUFFIXES[type] ?? ['']).map((suffix) => name + suffix);
}

function parseSample(line: string): [key: string, value: number] {
  const name = NAME.exec(line)?.[0];
  if (name === undefined) throw new Error(`no metric name: ${line}`);
  let rest = line.slice(name.length);
  if (rest.startsWith('{')) {
    rest = rest.slice(1);
    for (let closed = false; !closed;) {
      const label = LABEL.exec(rest);
      if (label === null) throw new Error(`bad label: ${line}`);
      rest = rest.slice(label[0].length);
      closed = label[3] === '}';
    }
  }
  const value = /^ (-?\d+(?:\.\d+)?(?:e[+-]?\d+)?|NaN|[+-]Inf)$/.exec(rest)?.[1];
  if (value === undefined) throw new Error(`bad value: ${line}`);
  return [line.slice(0, line.length - rest.length), Number(value.replace('Inf', 'Infinity'))];
}
