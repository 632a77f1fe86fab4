import type { Directive } from '../context.ts';
import type { JsonValue } from '../json.ts';
import { failure } from '../syntax/failure.ts';
import { some } from '../syntax/read.ts';
import type { Token } from '../syntax/token.ts';
import { handlerDirective } from './handler.ts';

/** `redir [<matcher>] <to> [permanent|temporary|html|<code>]`; 302 without a code. */
export const redir: Directive = handlerDirective('redir', (statement) => {
  const [to, code] = some(statement, 1, 2);
  const target = to?.text ?? '';
  if (code?.text === 'html') return [{ handler: 'static_response', ...htmlRedirect(target) }];
  return [{ handler: 'static_response', headers: { Location: [target] }, status_code: codeOf(code) }];
});

function codeOf(token: Token | undefined): JsonValue {
  if (token === undefined || token.text === 'temporary') return 302;
  if (token.text === 'permanent') return 301;
  if (token.text.startsWith('{')) return token.text;
  const code = /^\d{3}$/.test(token.text) ? Number(token.text) : 0;
  if (code === 401 || (code >= 300 && code <= 399)) return code;
  throw failure(token, `not a redirect code: '${token.text}': write permanent, temporary, html or one of 300 to 399`);
}

/** For browsers that must see a page: scripts, an attribute and a link all lead on. */
function htmlRedirect(to: string): { body: string; headers: Record<string, string[]>; status_code: number } {
  const safe = to
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll('"', '&#34;')
    .replaceAll("'", '&#39;');
  const body = [
    '<!DOCTYPE html>',
    '<html>',
    `<head><title>Redirecting</title><meta http-equiv="refresh" content="0; url=${safe}"></head>`,
    `<body><p>The page is at <a href="${safe}">${safe}</a>.</p></body>`,
    '</html>',
    '',
  ].join('\n');
  return { body, headers: { 'Content-Type': ['text/html; charset=utf-8'] }, status_code: 200 };
}
