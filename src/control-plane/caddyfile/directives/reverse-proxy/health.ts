import { canonicalHeaderName } from '../../header-name.ts';
import { type JsonObject, ownList, setOwn } from '../../json.ts';
import { failure } from '../../syntax/failure.ts';
import { blockOf, duration, flag, integer, one, some, statusOrClass, texts } from '../../syntax/read.ts';
import type { Statement } from '../../syntax/statement.ts';
import { parseHealthBlock } from '../../health/block.ts';
import { type ProxyDraft, put, type Subdirective, type SubdirectiveTable } from './draft.ts';
import { warn } from '../../context.ts';

function text(field: string): Subdirective {
  return (line, draft) => put(draft, draft.active, field, one(line).text, line);
}

function time(field: string, label: string): Subdirective {
  return (line, draft) => put(draft, draft.active, field, duration(one(line), label), line);
}

function count(field: string, label: string): Subdirective {
  return (line, draft) => put(draft, draft.active, field, integer(one(line), label), line);
}

/** `health <probe> { … }` and `health_*`: the active check. */
export const HEALTH_SUBDIRECTIVES: SubdirectiveTable = {
  health: (line, draft) => {
    if (draft.probe !== null) throw failure(line.name, 'a pool has one health block');
    draft.probe = parseHealthBlock(line, draft.context.adaptation.origins);
  },
  health_uri: text('uri'),
  health_path: (line, draft) => {
    warn(draft.context.adaptation, line.name, 'health_path', 'health_path is deprecated: write health_uri instead');
    put(draft, draft.active, 'path', one(line).text, line);
  },
  health_upstream: setCheckAddress,
  health_port: setCheckPort,
  health_interval: time('interval', 'bad interval value'),
  health_timeout: time('timeout', 'bad timeout value'),
  health_method: text('method'),
  health_request_body: text('body'),
  health_headers: addCheckHeaders,
  health_status: (line, draft) => put(draft, draft.active, 'expect_status', statusOrClass(one(line)), line),
  health_body: text('expect_body'),
  health_follow_redirects: (line, draft) => {
    flag(line);
    put(draft, draft.active, 'follow_redirects', true, line);
  },
  health_passes: count('passes', 'invalid passes count'),
  health_fails: count('fails', 'invalid fails count'),
  health_initial: (line, draft) => {
    const token = one(line);
    if (token.text !== 'up' && token.text !== 'down') {
      throw failure(token, `bad health_initial '${token.text}': write up or down`);
    }
    put(draft, draft.active, 'initial', token.text, line);
  },
};

function setCheckAddress(line: Statement, draft: ProxyDraft): void {
  const token = one(line);
  const [, host = '', port = ''] = /^(.+):(\d+)$/.exec(token.text) ?? [];
  if (host === '' || Number(port) > 65_535) {
    throw failure(
      token,
      `bad health_upstream '${token.text}': write an address and a port number, such as 10.0.0.1:8080`,
    );
  }
  put(draft, draft.active, 'upstream', token.text, line);
}

function setCheckPort(line: Statement, draft: ProxyDraft): void {
  if (draft.active['upstream'] !== undefined) {
    throw failure(
      line.name,
      "the 'health_port' subdirective is ignored if 'health_upstream' is used: write one of them",
    );
  }
  const token = one(line);
  const port = integer(token, 'bad port number');
  if (port < 1 || port > 65_535) throw failure(token, `bad port number '${token.text}': write 1 to 65535`);
  put(draft, draft.active, 'port', port, line);
}

/** Fields without a value are sent empty; the same field twice collects its values. */
function addCheckHeaders(line: Statement, draft: ProxyDraft): void {
  if (line.args[0] !== undefined) throw failure(line.args[0], 'health_headers takes a block of fields');
  const known = draft.active['headers'];
  const headers: JsonObject = known !== null && typeof known === 'object' && !Array.isArray(known) ? { ...known } : {};
  for (const field of blockOf(line)) {
    const values = texts(some(field, 0));
    const name = canonicalHeaderName(field.name.text.replace(/:$/, ''));
    setOwn(headers, name, [...ownList(headers, name), ...(values.length > 0 ? values : [''])]);
  }
  put(draft, draft.active, 'headers', headers, line);
}
