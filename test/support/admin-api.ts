/** The admin API of a running balancer as a script would use it. */
import type { Balancer } from '../../src/index.ts';

export interface ApiAnswer {
  readonly status: number;
  readonly etag: string;
  readonly text: string;
  /** Parsed body; undefined when it is not JSON. */
  readonly json: unknown;
}

export class AdminApi {
  readonly origin: string;

  constructor(balancer: Balancer) {
    const address = balancer.adminAddress();
    if (address === null) throw new Error('this balancer has no admin endpoint');
    this.origin = `http://${address.host}:${address.port}`;
  }

  get(path: string): Promise<ApiAnswer> {
    return this.#send('GET', path);
  }

  patch(path: string, body: unknown, headers: Readonly<Record<string, string>> = {}): Promise<ApiAnswer> {
    return this.#send('PATCH', path, JSON.stringify(body), { 'Content-Type': 'application/json', ...headers });
  }

  post(path: string, body: string, headers: Readonly<Record<string, string>>): Promise<ApiAnswer> {
    return this.#send('POST', path, body, headers);
  }

  async #send(
    method: string,
    path: string,
    body?: string,
    headers: Readonly<Record<string, string>> = {},
  ): Promise<ApiAnswer> {
    const response = await fetch(this.origin + path, { method, headers, ...(body === undefined ? {} : { body }) });
    const text = await response.text();
    return { status: response.status, etag: response.headers.get('etag') ?? '', text, json: parse(text) };
  }
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
