/** What may differ from Caddy 2.6, each with the words of docs/caddy-differences.md that say so. */

export interface Difference {
  /** Words of the page. */
  readonly documented: string;
  /** Lines that only Caddy shows. */
  readonly caddy?: RegExp;
  /** Lines that only Holdfast shows. */
  readonly holdfast?: RegExp;
}

export const DIFFERENCES: readonly Difference[] = [
  { documented: '| `Via` | `1.1 Caddy` | `1.1 holdfast` |', holdfast: /^(?:[AB] <|client >) via: / },
  {
    documented: 'Answers of our own have `Server: holdfast`',
    caddy: /^client > server: Caddy$/,
    holdfast: /^client > server: holdfast$/,
  },
  {
    documented: 'An error without an error route has a line of text',
    caddy: /^client > body ""$/,
    holdfast: /^client > (?:content-type: text\/plain; charset=utf-8|body "The server behind this balancer .*)$/,
  },
  {
    documented: 'Path and query go upstream byte for byte unless a rewrite is configured; Caddy escapes `|^{}`',
    caddy: /GET \/a%7Cb%5Ec%7Bd%7D HTTP/,
    holdfast: /GET \/a\|b\^c\{d\} HTTP/,
  },
  {
    documented: 'leave the rest of the path as it is; Caddy merges its double slashes',
    caddy: /GET \/double HTTP/,
    holdfast: /GET \/\/double HTTP/,
  },
  {
    documented: 'Several `?` fields of one `header` block are each set when they are missing themselves',
    holdfast: /^client > x-default: default$/,
  },
  {
    documented: 'servers are not asked for gzip on behalf of a client that did not ask',
    caddy: /^A < accept-encoding: gzip$/,
  },
];
