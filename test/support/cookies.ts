/** Affinity cookies as a browser handles them. */
import { get, type RawResponse } from './raw-client.ts';

export interface Visit {
  readonly status: number;
  /** Body: the name of the server. */
  readonly server: string;
  /** Set-Cookie lines of the affinity cookie. */
  readonly given: readonly string[];
  /** `name=value` to send from now on: the new one, or the one that was sent. */
  readonly cookie: string;
  readonly response: RawResponse;
}

/** One GET with `cookie` ('' = none). */
export async function visit(
  port: number,
  cookie = '',
  headers: Readonly<Record<string, string>> = {},
  name = 'lb',
): Promise<Visit> {
  const response = await get(port, '/', { ...headers, ...(cookie === '' ? {} : { Cookie: cookie }) });
  const given = response.headers('set-cookie').filter((line) => line.startsWith(`${name}=`));
  return {
    status: response.status,
    server: response.body,
    given,
    cookie: given.at(-1)?.split(';')[0] ?? cookie,
    response,
  };
}

/** Visits without a cookie until each of `names` has given one: server → cookie. */
export async function cookiesOf(port: number, names: readonly string[]): Promise<Map<string, string>> {
  const cookies = new Map<string, string>();
  for (let tries = 0; tries < 200 && cookies.size < names.length; tries += 1) {
    const { server, cookie } = await visit(port);
    cookies.set(server, cookie);
  }
  if (cookies.size < names.length) throw new Error(`200 visits met only ${[...cookies.keys()].join()}`);
  return cookies;
}
