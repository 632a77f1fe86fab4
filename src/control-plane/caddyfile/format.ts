/** The standard layout of a Caddyfile. Only white space changes: tokens, lines and comments stay what they are. */
import { lex, lexPieces } from './syntax/lexer.ts';
import { isBare, type Token } from './syntax/token.ts';

/** What stands between two tokens, white space left out. `join` is a backslash before a line end. */
type Mark = 'newline' | 'join' | { readonly comment: string };

/** Throws a `ConfigError` for text that has no tokens: an open quote, a broken heredoc. */
export function formatCaddyfile(text: string, filename: string): string {
  const layout = new Layout();
  for (const { gap, token } of lexPieces(text, filename)) {
    const marks = marksOf(gap);
    marks.forEach((mark, index) => layout.mark(mark, marks[index + 1] ?? (token === null ? 'newline' : null)));
    if (token !== null) layout.token(token);
  }
  const formatted = layout.finish();
  assertSameTokens(text, formatted, filename);
  return formatted;
}

class Layout {
  readonly #lines: string[] = [];
  /** Tokens and comment of the line that is being written. */
  #line: Token[] = [];
  #text = '';
  #comment = '';
  #depth = 0;
  /** An empty line is due before the next one. */
  #gap = false;
  /** The last line opened a block, or there is none yet: no empty line follows it. */
  #fresh = true;
  /** The last line closed a block that nothing contains. */
  #closedTop = false;

  token(token: Token): void {
    const opens = this.#line.length === 0;
    this.#text += opens || this.#text.endsWith('\t') ? token.raw : ` ${token.raw}`;
    this.#line.push(token);
  }

  /** `next` is what follows; null = the next token. */
  mark(mark: Mark, next: Mark | null): void {
    if (mark === 'newline') this.#endLine();
    else if (mark !== 'join') this.#comment = mark.comment;
    else if (this.#line.length > 0 && next === null) this.#text += ` \\\n${'\t'.repeat(this.#depth + 1)}`;
  }

  finish(): string {
    this.#endLine();
    return this.#lines.length === 0 ? '' : `${this.#lines.join('\n')}\n`;
  }

  #endLine(): void {
    const tokens = this.#line;
    if (tokens.length === 0 && this.#comment === '') {
      this.#gap = true;
      return;
    }
    const closes = isBare(tokens[0], '}');
    if (closes) this.#depth = Math.max(0, this.#depth - 1);
    const isDue = this.#gap || (this.#closedTop && this.#depth === 0);
    if (isDue && !this.#fresh && !closes) this.#lines.push('');
    // A word that ends in a backslash would join the next line.
    const spaced = tokens.length > 0 && (this.#comment !== '' || this.#text.endsWith('\\'));
    this.#lines.push(`${'\t'.repeat(this.#depth)}${this.#text}${spaced ? ' ' : ''}${this.#comment}`);
    const opens = isBare(tokens.at(-1), '{');
    this.#closedTop = closes && !opens && this.#depth === 0;
    if (opens) this.#depth += 1;
    this.#fresh = opens;
    this.#gap = false;
    this.#line = [];
    this.#text = '';
    this.#comment = '';
  }
}

function marksOf(gap: string): Mark[] {
  const marks: Mark[] = [];
  for (const [text] of gap.matchAll(/#[^\n]*|\\\r?\n|\n/g)) {
    if (text.startsWith('#')) marks.push({ comment: text.trimEnd() });
    else marks.push(text === '\n' ? 'newline' : 'join');
  }
  return marks;
}

/** A formatter that changes a config would be worse than none. */
function assertSameTokens(before: string, after: string, filename: string): void {
  const shape = (text: string): string =>
    JSON.stringify(lex(text, filename).map(({ raw, startsLine }) => [raw, startsLine]));
  if (shape(before) === shape(after)) return;
  throw new Error(
    `formatting ${filename} would change what it says; this is a fault of Holdfast, the file is left alone`,
  );
}
