/** How a token was written. Quoted tokens are never structural: a quoted `{` is an argument. */
export type Quote = '' | '"' | '`' | '<<';

/** Where something was written. */
export type Place = Pick<Token, 'file' | 'line'>;

export interface Token {
  readonly text: string;
  /** As it stood in the file, quotes included: expressions need it. */
  readonly raw: string;
  readonly quote: Quote;
  readonly file: string;
  /** Counted from 1. */
  readonly line: number;
  /** First on its logical line (a backslash before the newline joins two lines). */
  readonly startsLine: boolean;
  /** `['site.conf:3 (import name)']`, outermost import first; empty when written in place. */
  readonly importChain: readonly string[];
}

export function isBare(token: Token | undefined, text: string): boolean {
  return token !== undefined && token.quote === '' && token.text === text;
}
