import { spells } from './chars.ts';
import * as head from './head.ts';

/**
 * FIELD_* of the field name text[start, end), which must consist of token characters. By length first: most names stop
 * at a number. No allocation.
 */
export function fieldKind(text: string, start: number, end: number): number {
  switch (end - start) {
    case 2:
      return match(text, start, end, 'te', head.FIELD_TE);
    case 3:
      return match(text, start, end, 'via', head.FIELD_VIA);
    case 4:
      return match(text, start, end, 'host', head.FIELD_HOST) || match(text, start, end, 'date', head.FIELD_DATE);
    case 6:
      return kindOfLength6(text, start, end);
    case 7:
      return kindOfLength7(text, start, end);
    case 10:
      return kindOfLength10(text, start, end);
    case 14:
      return (
        match(text, start, end, 'content-length', head.FIELD_CONTENT_LENGTH) ||
        match(text, start, end, 'http2-settings', head.FIELD_HTTP2_SETTINGS)
      );
    case 15:
      return match(text, start, end, 'x-forwarded-for', head.FIELD_X_FORWARDED_FOR);
    case 16:
      return (
        match(text, start, end, 'proxy-connection', head.FIELD_PROXY_CONNECTION) ||
        match(text, start, end, 'x-forwarded-host', head.FIELD_X_FORWARDED_HOST)
      );
    case 17:
      return (
        match(text, start, end, 'transfer-encoding', head.FIELD_TRANSFER_ENCODING) ||
        match(text, start, end, 'x-forwarded-proto', head.FIELD_X_FORWARDED_PROTO)
      );
    case 18:
      return match(text, start, end, 'proxy-authenticate', head.FIELD_PROXY_AUTHENTICATE);
    case 19:
      return match(text, start, end, 'proxy-authorization', head.FIELD_PROXY_AUTHORIZATION);
    default:
      return head.FIELD_OTHER;
  }
}

function match(text: string, start: number, end: number, lower: string, kind: number): number {
  return spells(text, start, end, lower) ? kind : head.FIELD_OTHER;
}

function kindOfLength6(text: string, start: number, end: number): number {
  return (
    match(text, start, end, 'cookie', head.FIELD_COOKIE) ||
    match(text, start, end, 'expect', head.FIELD_EXPECT) ||
    match(text, start, end, 'server', head.FIELD_SERVER)
  );
}

function kindOfLength7(text: string, start: number, end: number): number {
  return (
    match(text, start, end, 'upgrade', head.FIELD_UPGRADE) ||
    match(text, start, end, 'trailer', head.FIELD_TRAILER) ||
    match(text, start, end, 'alt-svc', head.FIELD_ALT_SVC)
  );
}

function kindOfLength10(text: string, start: number, end: number): number {
  return (
    match(text, start, end, 'connection', head.FIELD_CONNECTION) ||
    match(text, start, end, 'set-cookie', head.FIELD_SET_COOKIE) ||
    match(text, start, end, 'keep-alive', head.FIELD_KEEP_ALIVE)
  );
}
