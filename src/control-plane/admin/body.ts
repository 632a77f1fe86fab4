import type { IncomingMessage } from 'node:http';
import { AdminError } from './exchange.ts';

/** Largest request body, bytes: Caddy's limit for configs. */
export const DEFAULT_MAX_BODY_BYTES: number = 100 * 1024 * 1024;

/** Reads a whole body. Beyond `maxBytes` it rejects at once, whatever Content-Length says. */
export async function readBody(message: IncomingMessage, maxBytes: number): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  try {
    // Leaving the loop must not destroy the socket: the refusal still has to go out.
    for await (const chunk of message.iterator({ destroyOnReturn: false })) {
      const part: Buffer = chunk;
      bytes += part.length;
      if (bytes > maxBytes) throw new AdminError(413, `request body is larger than ${maxBytes} bytes`);
      chunks.push(part);
    }
  } catch (error) {
    if (error instanceof AdminError) throw error;
    throw new AdminError(400, 'request body was cut off', { cause: error });
  }
  return Buffer.concat(chunks);
}

/** Demands a media type that says JSON, which no plain form of a browser can send. */
export function requireJson(contentType: string): void {
  if (!isJson(contentType)) {
    throw new AdminError(400, `unacceptable content-type: ${contentType || 'none'}; send application/json`);
  }
}

export function isJson(contentType: string): boolean {
  const type = mediaType(contentType);
  return type.endsWith('/json') || type.endsWith('+json');
}

/** The media type in lower case, without parameters. */
export function mediaType(contentType: string): string {
  return (contentType.split(';')[0] ?? '').trim().toLowerCase();
}

export function parseJson(body: Buffer): unknown {
  try {
    return JSON.parse(body.toString('utf8'));
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw new AdminError(400, `request body is not JSON: ${reason}`, { cause: error });
  }
}
