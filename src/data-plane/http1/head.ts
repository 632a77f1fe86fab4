/** A parsed message head: one latin1 string and offsets into it. Reused, never kept by an idle connection. */

/** How the body of a message ends (RFC 9112 section 6.3). Decided in framing.ts and nowhere else. */
export const BODY_NONE = 0;
export const BODY_LENGTH = 1;
export const BODY_CHUNKED = 2;
/** Until the connection closes; responses only. */
export const BODY_CLOSE = 3;

/** Fields the proxy itself has an opinion on. Everything else is FIELD_OTHER and passes untouched. */
export const FIELD_OTHER = 0;
export const FIELD_HOST = 1;
export const FIELD_CONNECTION = 2;
export const FIELD_CONTENT_LENGTH = 3;
export const FIELD_TRANSFER_ENCODING = 4;
export const FIELD_TE = 5;
export const FIELD_TRAILER = 6;
export const FIELD_UPGRADE = 7;
export const FIELD_KEEP_ALIVE = 8;
export const FIELD_PROXY_CONNECTION = 9;
export const FIELD_PROXY_AUTHENTICATE = 10;
export const FIELD_PROXY_AUTHORIZATION = 11;
export const FIELD_EXPECT = 12;
export const FIELD_X_FORWARDED_FOR = 13;
export const FIELD_X_FORWARDED_PROTO = 14;
export const FIELD_X_FORWARDED_HOST = 15;
export const FIELD_COOKIE = 16;
export const FIELD_SET_COOKIE = 17;
export const FIELD_VIA = 18;
export const FIELD_SERVER = 19;
export const FIELD_DATE = 20;
export const FIELD_ALT_SVC = 21;
export const FIELD_HTTP2_SETTINGS = 22;
export const FIELD_KINDS = 23;

/** Of a request that came over HTTP/2: see `Head.version`. */
export const VERSION_HTTP2 = 20;

/** As logs and placeholders name a version. */
export function protocolName(version: number): string {
  return version === VERSION_HTTP2 ? 'HTTP/2.0' : version === 10 ? 'HTTP/1.0' : 'HTTP/1.1';
}

export class Head {
  /** The head as received, latin1, from the first byte to the CRLF of the last field line (included). */
  text = '';
  /** Number of field lines. */
  count = 0;
  /** Four offsets a field: name start, name end, value start, value end (optional white space cut). */
  readonly offsets: number[] = [];
  /** FIELD_* of each field line. */
  readonly kinds: number[] = [];
  /** First field line of each FIELD_* kind, −1 when absent. */
  readonly first: Int16Array = new Int16Array(FIELD_KINDS).fill(-1);

  /** Bit `1 << FIELD_*` is set when that kind has more than one line. */
  repeated = 0;
  /** ERROR_* of the last parse, 0 when the head was accepted: says more than the status that is answered. */
  fault = 0;

  /** Where the first field line begins in `text`. */
  fieldsStart = 0;
  /** 10 or 11, as it is written; 20 for a request that was made text of HTTP/1.1 from HTTP/2. */
  version = 11;

  /** Request only. */
  method = '';
  /** Request target exactly as received. */
  target = '';
  /** Authority that counts: of an absolute-form target, else the Host value; '' for HTTP/1.0 without Host. */
  authority = '';
  /** Origin-form to send upstream: `target`, or path and query of an absolute-form target. `*` stays. */
  originForm = '';

  /** Response only. */
  status = 0;
  /** Offsets of the reason phrase in `text`. */
  reasonStart = 0;
  reasonEnd = 0;

  /** BODY_* */
  body: number = BODY_NONE;
  /** With BODY_LENGTH. For a response to HEAD and for 304: the announced length (body is BODY_NONE), −1 = none. */
  contentLength = -1;
  /** The connection may carry another message after this one, as far as the peer is concerned. */
  keepAlive = true;
  /** `Connection` has the token `upgrade` and an Upgrade field is present (HTTP/1.1 only). */
  upgrade = false;
  /** `Expect: 100-continue` (HTTP/1.1 only). */
  expectContinue = false;
  /** `TE` has the token `trailers`. */
  acceptsTrailers = false;
  /** `Connection` names fields besides the standard hop-by-hop ones: they must go too (RFC 9110 section 7.6.1). */
  connectionNames: readonly string[] = [];

  /** At least one byte of a body follows the head, or may. */
  get hasBody(): boolean {
    return this.body !== BODY_NONE && !(this.body === BODY_LENGTH && this.contentLength === 0);
  }

  nameOf(field: number): string {
    return this.text.slice(this.offsets[field * 4], this.offsets[field * 4 + 1]);
  }

  valueOf(field: number): string {
    return this.text.slice(this.offsets[field * 4 + 2], this.offsets[field * 4 + 3]);
  }

  /** Value of the first line of a known kind, '' when absent. */
  known(kind: number): string {
    const field = this.first[kind]!;
    return field < 0 ? '' : this.valueOf(field);
  }

  /** All values of a known kind in order, joined; '' when absent. */
  joined(kind: number, separator: string): string {
    const first = this.first[kind]!;
    if (first < 0) return '';
    let value = this.valueOf(first);
    for (let field = first + 1; field < this.count; field += 1) {
      if (this.kinds[field] === kind) value += separator + this.valueOf(field);
    }
    return value;
  }

  /** Value of the first line with this lower-case name, null when absent. */
  find(lowerName: string): string | null {
    const field = this.findField(lowerName, 0);
    return field < 0 ? null : this.valueOf(field);
  }

  /** Number of the first line at or after `from` with this lower-case name, −1 when absent. */
  findField(lowerName: string, from: number): number {
    for (let field = from; field < this.count; field += 1) {
      const start = this.offsets[field * 4]!;
      const end = this.offsets[field * 4 + 1]!;
      if (end - start !== lowerName.length) continue;
      if (this.text.slice(start, end).toLowerCase() === lowerName) return field;
    }
    return -1;
  }
}
