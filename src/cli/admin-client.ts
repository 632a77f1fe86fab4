import { CliError } from './failure.ts';

/** The default address of the admin API. */
export const DEFAULT_ADMIN_ADDRESS = 'localhost:2019';

/** The balancer answers a reload only after it is in force, so this is long. */
const TIMEOUT_MS = 120_000;

/** Sends a POST to the admin API at `address` (`host:port`) and returns the body of a 2xx reply. */
export async function postAdmin(
  address: string,
  path: string,
  body: string,
  headers: Readonly<Record<string, string>>,
): Promise<string> {
  const base = address.includes('://') ? address : `http://${address}`;
  if (!URL.canParse(path, base)) throw new CliError(`invalid admin address '${address}': give host:port`, 2);
  const reply = await send(new URL(path, base), address, body, headers);
  const text = await reply.text();
  if (!reply.ok) throw new CliError(errorOf(text) ?? `the admin API at ${address} answered ${reply.status}`);
  return text;
}

async function send(
  url: URL,
  address: string,
  body: string,
  headers: Readonly<Record<string, string>>,
): Promise<Response> {
  try {
    return await fetch(url, {
      method: 'POST',
      body,
      // `enforce_origin` asks it of every client.
      headers: { ...headers, Origin: url.origin },
      signal: AbortSignal.timeout(TIMEOUT_MS),
    });
  } catch (error) {
    const cause = error instanceof Error && error.cause instanceof Error ? error.cause.message : String(error);
    throw new CliError(
      `no admin API at ${address} (${cause || 'no connection'}): is holdfast running there? --address names another one`,
      1,
      {
        cause: error,
      },
    );
  }
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
