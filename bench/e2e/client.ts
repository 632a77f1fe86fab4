/** One request over a raw socket, for checks and for finding out when a proxy answers. */
import { connect, type Socket } from 'node:net';

export interface Answer {
  readonly status: number;
  readonly body: string;
}

const DEFAULT_ADDRESS = '127.0.0.1';
const TIMEOUT_MS = 5_000;

export function requestText(path: string, host: string): string {
  return `GET ${path} HTTP/1.1\r\nHost: ${host}\r\nUser-Agent: holdfast-bench\r\nAccept: */*\r\n\r\n`;
}

/** Connects from `localAddress`, asks once, closes. Rejects when there is no whole answer in five seconds. */
export async function ask(port: number, path: string, localAddress: string = DEFAULT_ADDRESS): Promise<Answer> {
  const { socket, answer } = await askAndKeep(port, path, localAddress);
  socket.destroy();
  return answer;
}

/** Like {@link ask}, and leaves the connection open. */
export function askAndKeep(
  port: number,
  path: string,
  localAddress: string = DEFAULT_ADDRESS,
): Promise<{ socket: Socket; answer: Answer }> {
  return new Promise((resolve, reject) => {
    // Naming the default would use up a port of this machine per connection (IP_BIND_ADDRESS_NO_PORT is not set).
    const from = localAddress === DEFAULT_ADDRESS ? {} : { localAddress };
    const socket = connect({ host: '127.0.0.1', port, noDelay: true, ...from });
    let text = '';
    const fail = (error: Error): void => {
      socket.destroy();
      reject(error);
    };
    socket.setTimeout(TIMEOUT_MS, () => fail(new Error(`no answer from port ${port} in ${TIMEOUT_MS} ms`)));
    socket.on('error', fail);
    socket.on('end', () => fail(new Error(`port ${port} closed before a whole answer`)));
    socket.on('connect', () => socket.write(requestText(path, `127.0.0.1:${port}`)));
    socket.on('data', (data) => {
      text += data.toString('latin1');
      const answer = parseAnswer(text);
      if (answer === null) return;
      socket.setTimeout(0);
      socket.removeAllListeners();
      socket.on('error', () => {});
      resolve({ socket, answer });
    });
  });
}

/** null = not complete yet. Bodies by Content-Length or in chunks. */
export function parseAnswer(text: string): Answer | null {
  const end = text.indexOf('\r\n\r\n');
  if (end < 0) return null;
  const head = text.slice(0, end);
  const rest = text.slice(end + 4);
  const status = Number(/^HTTP\/1\.1 (\d{3})/.exec(head)?.[1] ?? 0);
  const length = /^content-length: *(\d+)/im.exec(head)?.[1];
  if (length !== undefined) {
    return rest.length < Number(length) ? null : { status, body: rest.slice(0, Number(length)) };
  }
  const body = /^transfer-encoding: *chunked/im.test(head) ? dechunk(rest) : '';
  return body === null ? null : { status, body };
}

function dechunk(text: string): string | null {
  let body = '';
  let at = 0;
  for (;;) {
    const lineEnd = text.indexOf('\r\n', at);
    if (lineEnd < 0) return null;
    const size = Number.parseInt(text.slice(at, lineEnd), 16);
    if (size === 0) return body;
    if (text.length < lineEnd + 2 + size + 2) return null;
    body += text.slice(lineEnd + 2, lineEnd + 2 + size);
    at = lineEnd + 2 + size + 2;
  }
}
