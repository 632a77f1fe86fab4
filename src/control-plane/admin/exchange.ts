/** What a route of the admin API gets and gives. */
import type { ServerResponse } from 'node:http';

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
  readonly body: string;
  /** Called when the reply was sent, or its client is gone. */
  readonly afterwards?: () => void;
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

/** Writes the reply and ends the response. HEAD gets the head alone. */
export function sendReply(response: ServerResponse, reply: AdminReply, withBody: boolean): void {
  response.writeHead(reply.status, {
    ...reply.headers,
    'Content-Length': Buffer.byteLength(reply.body),
    'Cache-Control': 'no-store',
    'X-Content-Type-Options': 'nosniff',
    'X-Frame-Options': 'DENY',
  });
  if (reply.afterwards !== undefined) response.once('close', reply.afterwards);
  response.end(withBody ? reply.body : undefined);
}
