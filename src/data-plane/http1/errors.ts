/** Why a message is refused. One row per fault: the word for logs, what a client is answered, what happened, by which rule. */

interface Fault {
  readonly name: string;
  /** Answered when the fault is in a request. In a response the client gets 502 whatever the fault. */
  readonly status: number;
  readonly sentence: string;
  /** Section of the RFC; '' = a limit of ours. */
  readonly rule: string;
}

export const ERROR_REQUEST_LINE = 1;
export const ERROR_METHOD = 2;
export const ERROR_METHOD_UNSUPPORTED = 3;
export const ERROR_TARGET = 4;
export const ERROR_REQUEST_LINE_TOO_LONG = 5;
export const ERROR_VERSION = 6;
export const ERROR_STATUS_LINE = 7;
export const ERROR_LINE_END = 8;
export const ERROR_OBS_FOLD = 9;
export const ERROR_FIELD_NAME = 10;
export const ERROR_FIELD_VALUE = 11;
export const ERROR_HEAD_TOO_LARGE = 12;
export const ERROR_TOO_MANY_FIELDS = 13;
export const ERROR_HOST_MISSING = 14;
export const ERROR_HOST_REPEATED = 15;
export const ERROR_HOST = 16;
export const ERROR_CONTENT_LENGTH = 17;
export const ERROR_CONTENT_LENGTH_REPEATED = 18;
export const ERROR_LENGTH_AND_CODING = 19;
export const ERROR_TRANSFER_CODING = 20;
export const ERROR_TRANSFER_CODING_UNSUPPORTED = 21;
export const ERROR_TRANSFER_CODING_VERSION = 22;
export const ERROR_FRAMING_TAB = 23;
export const ERROR_EXPECTATION = 24;
export const ERROR_CHUNK_SIZE = 25;
export const ERROR_CHUNK_EXTENSION = 26;
export const ERROR_CHUNK_EXTENSION_TOO_LARGE = 27;
export const ERROR_CHUNK_END = 28;
export const ERROR_TRAILER = 29;
export const ERROR_TRAILER_TOO_LARGE = 30;
export const ERROR_CONNECTION_NAMES = 31;

const NO_FAULT: Fault = { name: 'none', status: 0, sentence: 'the message was accepted', rule: '' };

const FAULTS: Readonly<Record<number, Fault>> = {
  [ERROR_REQUEST_LINE]: {
    name: 'request_line',
    status: 400,
    sentence: 'the request line is not method, target and version with one space between them',
    rule: 'RFC 9112 section 3',
  },
  [ERROR_METHOD]: { name: 'method', status: 400, sentence: 'the method is not a token', rule: 'RFC 9112 section 3.1' },
  [ERROR_METHOD_UNSUPPORTED]: {
    name: 'method_unsupported',
    status: 501,
    sentence: 'the method is CONNECT, which only a forward proxy serves, or longer than any known method',
    rule: 'RFC 9112 section 3.1',
  },
  [ERROR_TARGET]: {
    name: 'target',
    status: 400,
    sentence: 'the request target has no valid form, or holds a space, a control byte, "#" or a byte above 0x7e',
    rule: 'RFC 9112 section 3.2',
  },
  [ERROR_REQUEST_LINE_TOO_LONG]: {
    name: 'request_line_too_long',
    status: 414,
    sentence: 'the request line is longer than the limit',
    rule: '',
  },
  [ERROR_VERSION]: {
    name: 'version',
    status: 505,
    sentence: 'the version is neither HTTP/1.1 nor HTTP/1.0',
    rule: 'RFC 9112 section 2.3',
  },
  [ERROR_STATUS_LINE]: {
    name: 'status_line',
    status: 400,
    sentence: 'the status line is not version, three-digit status and reason',
    rule: 'RFC 9112 section 4',
  },
  [ERROR_LINE_END]: {
    name: 'line_end',
    status: 400,
    sentence: 'a line does not end with CR LF',
    rule: 'RFC 9112 section 2.2',
  },
  [ERROR_OBS_FOLD]: {
    name: 'obs_fold',
    status: 400,
    sentence: 'a field line begins with white space (line folding)',
    rule: 'RFC 9112 section 5.2',
  },
  [ERROR_FIELD_NAME]: {
    name: 'field_name',
    status: 400,
    sentence: 'a field name is empty or holds a forbidden byte, for instance a space before the colon',
    rule: 'RFC 9112 section 5.1',
  },
  [ERROR_FIELD_VALUE]: {
    name: 'field_value',
    status: 400,
    sentence: 'a field value holds a control byte',
    rule: 'RFC 9110 section 5.5',
  },
  [ERROR_HEAD_TOO_LARGE]: {
    name: 'head_too_large',
    status: 431,
    sentence: 'the head is larger than the limit',
    rule: '',
  },
  [ERROR_TOO_MANY_FIELDS]: {
    name: 'too_many_fields',
    status: 431,
    sentence: 'the head has more field lines than the limit',
    rule: '',
  },
  [ERROR_HOST_MISSING]: {
    name: 'host_missing',
    status: 400,
    sentence: 'an HTTP/1.1 request has no Host line',
    rule: 'RFC 9112 section 3.2',
  },
  [ERROR_HOST_REPEATED]: {
    name: 'host_repeated',
    status: 400,
    sentence: 'the request has several Host lines',
    rule: 'RFC 9112 section 3.2',
  },
  [ERROR_HOST]: {
    name: 'host',
    status: 400,
    sentence: 'the host is not a name or address with an optional port (user information is not allowed)',
    rule: 'RFC 9110 section 7.2',
  },
  [ERROR_CONTENT_LENGTH]: {
    name: 'content_length',
    status: 400,
    sentence: 'Content-Length is not a decimal number of at most 15 digits',
    rule: 'RFC 9110 section 8.6',
  },
  [ERROR_CONTENT_LENGTH_REPEATED]: {
    name: 'content_length_repeated',
    status: 400,
    sentence: 'the message has several Content-Length lines',
    rule: 'RFC 9112 section 6.3',
  },
  [ERROR_LENGTH_AND_CODING]: {
    name: 'length_and_coding',
    status: 400,
    sentence: 'the message has both Content-Length and Transfer-Encoding',
    rule: 'RFC 9112 section 6.3',
  },
  [ERROR_TRANSFER_CODING]: {
    name: 'transfer_coding',
    status: 400,
    sentence: 'Transfer-Encoding is not a single "chunked", so the end of the message is unknown',
    rule: 'RFC 9112 section 6.3',
  },
  [ERROR_TRANSFER_CODING_UNSUPPORTED]: {
    name: 'transfer_coding_unsupported',
    status: 501,
    sentence: 'Transfer-Encoding applies another coding before "chunked"',
    rule: 'RFC 9112 section 6.1',
  },
  [ERROR_TRANSFER_CODING_VERSION]: {
    name: 'transfer_coding_version',
    status: 400,
    sentence: 'an HTTP/1.0 message has Transfer-Encoding',
    rule: 'RFC 9112 section 6.1',
  },
  [ERROR_FRAMING_TAB]: {
    name: 'framing_tab',
    status: 400,
    sentence: 'Content-Length, Transfer-Encoding or Connection holds a tab, which parsers read differently',
    rule: '',
  },
  [ERROR_EXPECTATION]: {
    name: 'expectation',
    status: 417,
    sentence: 'Expect asks for more than 100-continue',
    rule: 'RFC 9110 section 10.1.1',
  },
  [ERROR_CHUNK_SIZE]: {
    name: 'chunk_size',
    status: 400,
    sentence: 'a chunk size is not a hexadecimal number',
    rule: 'RFC 9112 section 7.1',
  },
  [ERROR_CHUNK_EXTENSION]: {
    name: 'chunk_extension',
    status: 400,
    sentence: 'a chunk extension is malformed',
    rule: 'RFC 9112 section 7.1.1',
  },
  [ERROR_CHUNK_EXTENSION_TOO_LARGE]: {
    name: 'chunk_extension_too_large',
    status: 413,
    sentence: 'the chunk extensions of the message are larger than the limit',
    rule: '',
  },
  [ERROR_CHUNK_END]: {
    name: 'chunk_end',
    status: 400,
    sentence: 'the data of a chunk do not end with CR LF',
    rule: 'RFC 9112 section 7.1',
  },
  [ERROR_TRAILER]: {
    name: 'trailer',
    status: 400,
    sentence: 'the trailer section is malformed',
    rule: 'RFC 9112 section 7.1.2',
  },
  [ERROR_TRAILER_TOO_LARGE]: {
    name: 'trailer_too_large',
    status: 431,
    sentence: 'the trailer section is larger than the limit',
    rule: '',
  },
  [ERROR_CONNECTION_NAMES]: {
    name: 'connection_names',
    status: 400,
    sentence: 'Connection names more than 32 fields',
    rule: '',
  },
};

function faultOf(code: number): Fault {
  return FAULTS[code] ?? NO_FAULT;
}

/** What happened, as half a sentence for logs and error pages. */
export function describeFault(code: number): string {
  return faultOf(code).sentence;
}

/** As `describeFault`, with the section of the RFC that says so, when one does. */
export function describeRule(code: number): string {
  const { sentence, rule } = faultOf(code);
  return rule === '' ? sentence : `${sentence} (${rule})`;
}

/** Stable word for logs and metrics, such as `obs_fold`; `none` for 0. */
export function faultName(code: number): string {
  return faultOf(code).name;
}

/** Status to answer when the fault is in a request; 0 for 0. */
export function faultStatus(code: number): number {
  return faultOf(code).status;
}
