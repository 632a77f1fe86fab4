/** Answers the balancer gives itself: a status, a reason phrase and one sentence. Nothing about the inside. */

const REASONS: Readonly<Record<number, string>> = {
  200: 'OK',
  201: 'Created',
  202: 'Accepted',
  204: 'No Content',
  206: 'Partial Content',
  301: 'Moved Permanently',
  302: 'Found',
  303: 'See Other',
  304: 'Not Modified',
  307: 'Temporary Redirect',
  308: 'Permanent Redirect',
  400: 'Bad Request',
  401: 'Unauthorized',
  403: 'Forbidden',
  404: 'Not Found',
  405: 'Method Not Allowed',
  408: 'Request Timeout',
  409: 'Conflict',
  410: 'Gone',
  413: 'Content Too Large',
  414: 'URI Too Long',
  417: 'Expectation Failed',
  418: "I'm a teapot",
  421: 'Misdirected Request',
  422: 'Unprocessable Content',
  425: 'Too Early',
  429: 'Too Many Requests',
  431: 'Request Header Fields Too Large',
  451: 'Unavailable For Legal Reasons',
  500: 'Internal Server Error',
  501: 'Not Implemented',
  502: 'Bad Gateway',
  503: 'Service Unavailable',
  504: 'Gateway Timeout',
  505: 'HTTP Version Not Supported',
};

const SENTENCES: Readonly<Record<number, string>> = {
  400: 'The request is not well-formed HTTP.',
  408: 'The request did not arrive in time.',
  413: 'The request body is too large.',
  414: 'The request line is too long.',
  417: 'The expectation is not supported.',
  431: 'The request header is too large.',
  501: 'The request asks for something this server does not implement.',
  502: 'The server behind this balancer could not be reached or answered badly.',
  503: 'No server is available for this request.',
  504: 'The server behind this balancer did not answer in time.',
  505: 'This HTTP version is not supported.',
};

/** The registered reason phrase, or a plain one by class (RFC 9110 section 15). */
export function reasonOf(status: number): string {
  return REASONS[status] ?? (status < 400 ? 'OK' : 'Error');
}

export interface ErrorText {
  /** Header lines, framing included. */
  readonly lines: string;
  readonly body: string;
}

export function errorText(status: number, wallMs: number): ErrorText {
  const body = `${SENTENCES[status] ?? reasonOf(status)}\n`;
  const lines =
    `Content-Type: text/plain; charset=utf-8\r\nContent-Length: ${body.length}\r\n` +
    `Date: ${new Date(wallMs).toUTCString()}\r\nServer: holdfast\r\n`;
  return { lines, body };
}
