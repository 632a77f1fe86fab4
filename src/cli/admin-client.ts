import { once } from 'node:events';
import { request, type IncomingMessage } from 'node:http';
import { text as readText } from 'node:stream/consumers';
import { CliError } from './failure.ts';

/** The default address of the admin API. */
export const DEFAULT_ADMIN_ADDRESS = 'localhost:2019';

/** The balancer answers a reload only after it is in force, so this is long. */
const TIMEOUT_MS = 120_000;
const UNIX_PREFIX = 'unix/';

interface AdminAnswer {
  readonly status: number;
  readonly text: string;
}

/** Sends a POST to the admin API at `address` (`host:port`, `unix//path`) and returns the body of a 2xx reply. */
export async function postAdmin(
  address: string,
  path: string,
  body: string,
  headers: Readonly<Record<string, string>>,
): Promise<string> {
  const { status, text } = await send(address, path, body, headers);
  if (status >= 200 && status < 300) return text;
  throw new CliError(errorOf(text) ?? `the admin API at ${address} answered ${status}`);
}

async function send(
  address: string,
  path: string,
  body: string,
  headers: Readonly<Record<string, string>>,
): Promise<AdminAnswer> {
  const sending = address.startsWith(UNIX_PREFIX)
    ? sendUnix(address.slice(UNIX_PREFIX.length), path, body, headers)
    : sendTcp(urlOf(address, path), body, headers);
  try {
    return await sending;
  } catch (error) {
    const cause = messageOf(error instanceof Error && error.cause instanceof Error ? error.cause : error);
    throw new CliError(
      `no admin API at ${address} (${cause || 'no connection'}): is holdfast running there? --address names another one`,
      1,
      {
        cause: error,
      },
    );
  }
}

function urlOf(address: string, path: string): URL {
  const base = address.includes('://') ? address : `http://${address}`;
  if (!URL.canParse(path, base)) {
    throw new CliError(`invalid admin address '${address}': give host:port or unix//path`, 2);
  }
  return new URL(path, base);
}

async function sendTcp(url: URL, body: string, headers: Readonly<Record<string, string>>): Promise<AdminAnswer> {
  const reply = await fetch(url, {
    method: 'POST',
    body,
    // `enforce_origin` asks it of every client.
    headers: { ...headers, Origin: url.origin },
    signal: AbortSignal.timeout(TIMEOUT_MS),
  });
  return { status: reply.status, text: await reply.text() };
}

/** `fetch` reaches no Unix socket. */
async function sendUnix(
  socketPath: string,
  path: string,
  body: string,
  headers: Readonly<Record<string, string>>,
): Promise<AdminAnswer> {
  const message = request({
    socketPath,
    path,
    method: 'POST',
    headers: { ...headers, Host: 'localhost', Origin: 'http://localhost', 'Content-Length': Buffer.byteLength(body) },
    signal: AbortSignal.timeout(TIMEOUT_MS),
    agent: false,
  });
  message.end(body);
  const [response]: IncomingMessage[] = await once(message, 'response');
  if (response === undefined) throw new Error('no response');
  return { status: response.statusCode ?? 0, text: await readText(response) };
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/** The message of `{"error":"…"}`. */
function errorOf(text: string): string | null {
  try {
    const json: unknown = JSON.parse(text);
    return typeof json === 'object' && json !== null && 'error' in json ? String(json.error) : null;
  } catch {
    return null;
  }
}
