/** One HTTP request of the control plane's own, bounded in time and size. Redirects are not followed. */
import { request as requestHttp } from 'node:http';
import { request as requestHttps } from 'node:https';
import { rootCertificates } from 'node:tls';

export interface WebQuestion {
  readonly url: string;
  /** Default GET, or POST where there is a body. */
  readonly body?: Buffer | string;
  readonly headers?: Readonly<Record<string, string>>;
  /** Besides those that Node trusts, PEM. */
  readonly trustedRoots?: readonly string[];
  readonly timeoutMs: number;
  readonly maxBytes: number;
}

export interface WebAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly body: Buffer;
}

/** Rejects when there is no whole answer. */
export function askWeb(question: WebQuestion): Promise<WebAnswer> {
  const { url, body, headers = {}, trustedRoots = [], timeoutMs, maxBytes } = question;
  const isSecure = new URL(url).protocol === 'https:';
  const options = {
    method: body === undefined ? 'GET' : 'POST',
    headers: { 'User-Agent': 'holdfast', ...headers },
    agent: false,
    signal: AbortSignal.timeout(timeoutMs),
    ...(trustedRoots.length > 0 ? { ca: [...rootCertificates, ...trustedRoots] } : {}),
  };
  return new Promise((resolve, reject) => {
    const request = (isSecure ? requestHttps : requestHttp)(url, options, (response) => {
      const chunks: Buffer[] = [];
      let bytes = 0;
      response.on('error', reject);
      response.on('data', (chunk: Buffer) => {
        bytes += chunk.length;
        chunks.push(chunk);
        if (bytes > maxBytes) request.destroy(new Error(`the answer has more than ${maxBytes} bytes`));
      });
      response.on('end', () => {
        resolve({ status: response.statusCode ?? 0, headers: response.headers, body: Buffer.concat(chunks) });
      });
    });
    request.on('error', reject);
    request.end(body);
  });
}
