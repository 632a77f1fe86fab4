/** Clients that keep asking on keep-alive connections while a test changes the world around them. */
import { openClient, type RawClient } from './raw-client.ts';

export interface LoadClient {
  readonly name: string;
  /** Header lines without the line end. */
  readonly headers?: readonly string[];
  readonly localAddress?: string;
}

/** One request and what came of it. `status` 0: the connection ended without an answer. */
export interface Answer {
  readonly client: string;
  readonly status: number;
  /** Value of X-Backend, '' for an answer that is not a server's. */
  readonly backend: string;
}

export interface Load {
  readonly answers: readonly Answer[];
  /** Waits until every client has had `each` more answers and returns all that came meanwhile. */
  more(each: number): Promise<readonly Answer[]>;
  stop(): Promise<void>;
}

/** Milliseconds between two requests of one client: load, not a benchmark. */
const PAUSE_MS = 5;

export function startLoad(port: number, clients: readonly LoadClient[]): Load {
  const answers: Answer[] = [];
  const stopping = new AbortController();
  const loops = clients.map(async (client) => {
    const caller = new Caller(port, client);
    while (!stopping.signal.aborted) {
      answers.push(await caller.ask());
      await new Promise((resolve) => setTimeout(resolve, PAUSE_MS));
    }
    caller.close();
  });
  return {
    answers,
    async more(each) {
      // What is under way may still belong to the world before: every client's next answer is left out.
      const deadline = Date.now() + 30_000;
      const from = answers.length;
      while (clients.some(({ name }) => countOf(answers.slice(from), name) < each + 1)) {
        if (Date.now() > deadline) throw new Error(`clients had ${answers.length - from} answers in 30 s`);
        await new Promise((resolve) => setTimeout(resolve, 10));
      }
      return withoutFirst(answers.slice(from));
    },
    async stop() {
      stopping.abort();
      await Promise.all(loops);
    },
  };
}

/** One client with one connection at a time. */
export class Caller {
  readonly #port: number;
  readonly #client: LoadClient;
  #connection: RawClient | null = null;

  constructor(port: number, client: LoadClient) {
    this.#port = port;
    this.#client = client;
  }

  /** `headers` are added to the client's own. Never rejects: a lost request has status 0. */
  async ask(headers: readonly string[] = [], target = '/'): Promise<Answer> {
    const { name, localAddress, headers: own = [] } = this.#client;
    // As any client does: a connection that the server closed while it was idle is not used again.
    if (this.#connection?.end !== undefined) this.close();
    try {
      this.#connection ??= await openClient(this.#port, localAddress);
      const lines = ['Host: example.com', ...own, ...headers].join('\r\n');
      const response = await this.#connection.send(`GET ${target} HTTP/1.1\r\n${lines}\r\n\r\n`).response();
      if (response.header('connection') === 'close') this.close();
      return { client: name, status: response.status, backend: response.header('x-backend') ?? '' };
    } catch {
      this.close();
      return { client: name, status: 0, backend: '' };
    }
  }

  close(): void {
    this.#connection?.close();
    this.#connection = null;
  }
}

/** Asks once for each header line, over a few connections; results in the order of `lines`. */
export async function askEach(port: number, lines: readonly string[], connections = 16): Promise<readonly Answer[]> {
  const answers: Answer[] = [];
  let next = 0;
  const work = async (): Promise<void> => {
    const caller = new Caller(port, { name: '' });
    for (let index = next++; index < lines.length; index = next++) answers[index] = await caller.ask([lines[index]!]);
    caller.close();
  };
  await Promise.all(Array.from({ length: connections }, work));
  return answers;
}

/** Client → the one server that answered it; 'several' where they differ. */
export function homesOf(answers: readonly Answer[]): Map<string, string> {
  const homes = new Map<string, string>();
  for (const { client, backend } of answers) {
    const known = homes.get(client);
    homes.set(client, known === undefined || known === backend ? backend : 'several');
  }
  return homes;
}

/** Answers that a client would see as an error. */
export function failuresOf(answers: readonly Answer[]): Answer[] {
  return answers.filter(({ status }) => status !== 200);
}

/** How often each server answered. */
export function sharesOf(answers: readonly Answer[]): Record<string, number> {
  const shares: Record<string, number> = {};
  for (const { backend } of answers) shares[backend] = (shares[backend] ?? 0) + 1;
  return shares;
}

function countOf(answers: readonly Answer[], name: string): number {
  return answers.filter(({ client }) => client === name).length;
}

function withoutFirst(answers: readonly Answer[]): Answer[] {
  const seen = new Set<string>();
  return answers.filter(({ client }) => seen.has(client) || !seen.add(client));
}
