/** What a route of the admin API gets and gives. */
import { once } from 'node:events';
import type { ServerResponse } from 'node:http';
import { setImmediate as nextTurn } from 'node:timers/promises';

/** A long list is sent in pieces of about this many characters: some 2 ms of the main thread for each. */
const PIECE_CHARS = 65_536;

export interface AdminRequest {
  readonly method: string;
  /** Path of the target, percent-encoding kept, no query. */
  readonly path: string;
  /** What follows the route's own path: `/apps/http` for `/config/apps/http`, '' for `/config`. */
  readonly rest: string;
  readonly query: URLSearchParams;
  /** Value of a header, lines joined with `, `; '' when absent. */
  header(name: string): string;
  /** The whole body. Rejects with an `AdminError` 413 beyond the limit. */
  body(): Promise<Buffer>;
}

export interface AdminReply {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  /** Pieces are sent as the client takes them, with pauses for other work, and without a Content-Length. */
  readonly body: string | AsyncIterable<string>;
  /** Called when the reply was sent, or its client is gone. */
  readonly afterwards?: () => void;
  /** A reply without an end: called when the endpoint closes, so that it does not wait for it. */
  readonly cancel?: () => void;
}

/** A refusal with a status; its message becomes `{"error":"…"}`. */
export class AdminError extends Error {
  readonly status: number;

  constructor(status: number, message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = 'AdminError';
    this.status = status;
  }
}

export type Handler = (request: AdminRequest) => Promise<AdminReply> | AdminReply;

export interface Route {
  /** `/load`; with `subtree`, also everything below it. */
  readonly path: string;
  readonly subtree?: boolean;
  readonly methods: Readonly<Record<string, Handler>>;
}

export function jsonReply(value: unknown, status = 200, headers: Readonly<Record<string, string>> = {}): AdminReply {
  return { status, headers: { 'Content-Type': 'application/json', ...headers }, body: `${JSON.stringify(value)}\n` };
}

/** The JSON array of `items`, each on a line of its own. A list of more than one piece is made while it is sent. */
export async function jsonListReply(items: Iterable<unknown> | AsyncIterable<unknown>): Promise<AdminReply> {
  const pieces = listPieces(items);
  const first = await pieces.next();
  const second = await pieces.next();
  const begun = [first, second].map(({ value }) => value ?? '');
  const body = second.done === true ? begun.join('') : continued(begun, pieces);
  return { status: 200, headers: { 'Content-Type': 'application/json' }, body };
}

async function* continued(begun: readonly string[], rest: AsyncIterable<string>): AsyncGenerator<string> {
  yield* begun;
  yield* rest;
}

async function* listPieces(items: Iterable<unknown> | AsyncIterable<unknown>): AsyncGenerator<string, undefined> {
  let piece = '[';
  let separator = '';
  for await (const item of items) {
    piece += separator + JSON.stringify(item);
    separator = ',\n';
    if (piece.length < PIECE_CHARS) continue;
    yield piece;
    piece = '';
  }
  yield `${piece}]\n`;
  return undefined;
}

export function emptyReply(status = 200): AdminReply {
  return { status, headers: {}, body: '' };
}

export function errorReply(
  status: number,
  message: string,
  headers: Readonly<Record<string, string>> = {},
): AdminReply {
  return jsonReply({ error: message }, status, headers);
}

/**
 * Writes the reply and ends the response; resolves when all was handed over, or the client is gone. HEAD gets the
 * head alone. Rejects, in the middle of the response, when pieces cannot be made.
 */
export async function sendReply(response: ServerResponse, reply: AdminReply, withBody: boolean): Promise<void> {
  const { body } = reply;
  response.writeHead(reply.status, {
    ...reply.headers,
    ...(typeof body === 'string' ? { 'Content-Length': Buffer.byteLength(body) } : {}),
    'Cache-Control': 'no-store',
    'X-Content-Type-Options': 'nosniff',
    'X-Frame-Options': 'DENY',
  });
  if (reply.afterwards !== undefined) response.once('close', reply.afterwards);
  if (withBody && typeof body !== 'string') await writePieces(response, body);
  response.end(withBody && typeof body === 'string' ? body : undefined);
}

async function writePieces(response: ServerResponse, pieces: AsyncIterable<string>): Promise<void> {
  const gone = new AbortController();
  response.once('close', () => gone.abort());
  let chars = 0;
  for await (const piece of pieces) {
    if (response.destroyed) return;
    if (!response.write(piece)) await once(response, 'drain', { signal: gone.signal }).catch(() => undefined);
    chars += piece.length;
    if (chars < PIECE_CHARS) continue;
    chars = 0;
    await nextTurn();
  }
}
