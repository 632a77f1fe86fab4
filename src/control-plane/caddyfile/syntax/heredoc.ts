import { ConfigError } from '../../../shared/config-error.ts';

export interface Heredoc {
  readonly text: string;
  /** Offset just behind the closing marker. */
  readonly end: number;
  /** Newlines from the opening marker to the closing one. */
  readonly lines: number;
}

const MARKER = /^[A-Za-z0-9_-]+$/;

/**
 * Reads the heredoc whose `<<` stands at `start`; null when what follows is an ordinary token. The text ends
 * at the first occurrence of the marker, wherever it is; what stands before it on that line is the padding cut
 * from every line.
 */
export function readHeredoc(source: string, start: number, file: string, line: number): Heredoc | null {
  const opening = /[^\s]*/y;
  opening.lastIndex = start + 2;
  const marker = opening.exec(source)?.[0] ?? '';
  const bodyStart = bodyAfter(source, start + 2 + marker.length);
  if (bodyStart === -1) return null;
  checkMarker(marker, file, line);
  const closing = source.indexOf(marker, bodyStart);
  if (bodyStart === source.length || closing === -1) {
    const what = `incomplete heredoc <<${marker} on line #${line}, expected ending marker ${marker}`;
    throw new ConfigError(`${what}, at ${file}:${line}`, { file, line });
  }
  const rows = source.slice(bodyStart, closing).replaceAll('\r', '').split('\n');
  return {
    text: cutPadding(rows, marker, file, line),
    end: closing + marker.length,
    lines: rows.length,
  };
}

/** Offset of the line after the marker, -1 when something else follows on the marker's own line. */
function bodyAfter(source: string, offset: number): number {
  const next = source[offset];
  if (next === undefined) return source.length;
  if (next === '\n') return offset + 1;
  return next === '\r' && source[offset + 1] === '\n' ? offset + 2 : -1;
}

function checkMarker(marker: string, file: string, line: number): void {
  const allowed = 'must contain only alphanumeric characters, dashes and underscores';
  if (marker === '') {
    const what = `missing opening heredoc marker on line #${line}; ${allowed}; got empty string`;
    throw new ConfigError(`${what}, at ${file}:${line}`, { file, line });
  }
  if (marker.startsWith('<')) {
    const what = `too many '<' for heredoc on line #${line}; only use two, for example <<END`;
    throw new ConfigError(`${what}, at ${file}:${line}`, { file, line });
  }
  if (!MARKER.test(marker)) {
    const what = `heredoc marker on line #${line} ${allowed}; got '${marker}'`;
    throw new ConfigError(`${what}, at ${file}:${line}`, { file, line });
  }
}

function cutPadding(rows: readonly string[], marker: string, file: string, line: number): string {
  const padding = rows.at(-1) ?? '';
  const content = rows.slice(0, -1);
  return content
    .map((row, index) => {
      if (row === '') return row;
      if (row.startsWith(padding)) return row.slice(padding.length);
      const at = line + 1 + index;
      const place = `in heredoc <<${marker} on line #${at} [${row}]`;
      const wanted = `expected whitespace [${padding}] to match the closing marker`;
      const what = `mismatched leading whitespace ${place}, ${wanted}`;
      throw new ConfigError(`${what}, at ${file}:${at}`, { file, line: at });
    })
    .join('\n');
}
