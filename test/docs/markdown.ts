/** Reads the documents of the repository as far as their tests need it. */
import { globSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

export const ROOT: string = fileURLToPath(new URL('../../', import.meta.url));

interface Doc {
  /** Relative to the root. */
  readonly path: string;
  readonly text: string;
}

interface Block {
  readonly path: string;
  /** Line of the opening fence, from 1. */
  readonly line: number;
  readonly language: string;
  readonly text: string;
}

/** README.md and its neighbours, everything under docs/, and the READMEs beside examples and sources. */
export function readDocs(): Doc[] {
  const paths = globSync(['*.md', 'docs/**/*.md', 'examples/*/*.md', 'src/**/*.md', 'test/**/*.md'], { cwd: ROOT });
  return paths.toSorted().map((path) => ({ path, text: readFileSync(`${ROOT}${path}`, 'utf8') }));
}

export function readDoc(path: string): string {
  return readFileSync(`${ROOT}${path}`, 'utf8');
}

/** Fenced code blocks. */
export function blocksOf({ path, text }: Doc): Block[] {
  const blocks: Block[] = [];
  let open: { line: number; language: string; lines: string[] } | null = null;
  for (const [index, line] of text.split('\n').entries()) {
    if (!line.startsWith('```')) open?.lines.push(line);
    else if (open === null) open = { line: index + 1, language: line.slice(3).trim(), lines: [] };
    else {
      blocks.push({ path, line: open.line, language: open.language, text: `${open.lines.join('\n')}\n` });
      open = null;
    }
  }
  return blocks;
}

/** The text without fenced blocks. */
export function proseOf(text: string): string {
  return text.replace(/^```[\s\S]*?^```$/gm, '');
}

/** Code spans, without their backquotes. Escaped bars of tables are bars. */
export function codeSpans(text: string): string[] {
  return [...text.matchAll(/`([^`\n]+)`/g)].map(([, code = '']) => code.replaceAll('\\|', '|'));
}

/** Cells of every table row, header and rule left out. */
export function tableRows(text: string): string[][] {
  const lines = text.split('\n');
  const isRow = (line: string | undefined): boolean => line?.startsWith('|') === true;
  const isRule = (line: string | undefined): boolean => /^\|[-| :]+\|$/.test(line ?? '');
  return lines
    .filter((line, index) => isRow(line) && !isRule(line) && !isRule(lines[index + 1]))
    .map((line) => {
      const cells = line.slice(1, line.lastIndexOf('|')).split(/(?<!\\)\|/);
      return cells.map((cell) => cell.trim());
    });
}

/** The section under a heading, up to the next heading of the same or a higher level. */
export function sectionOf(text: string, heading: string): string {
  const lines = text.split('\n');
  const start = lines.findIndex((line) => /^#+ /.test(line) && line.replace(/^#+ /, '') === heading);
  if (start < 0) throw new Error(`no heading '${heading}'`);
  const level = lines[start]!.indexOf(' ');
  const length = lines.slice(start + 1).findIndex((line) => /^#+ /.test(line) && line.indexOf(' ') <= level);
  return lines.slice(start + 1, length < 0 ? undefined : start + 1 + length).join('\n');
}

/** Anchors of the headings, as GitHub makes them. */
export function anchorsOf(text: string): Set<string> {
  const headings = [...proseOf(text).matchAll(/^#+ (.+)$/gm)].map(([, heading = '']) => heading);
  return new Set(
    headings.map((heading) =>
      heading
        .toLowerCase()
        .replace(/[^\p{L}\p{N} _-]/gu, '')
        .replaceAll(' ', '-'),
    ),
  );
}
