import type { JsonObject, JsonValue } from '../../json.ts';
import { setField } from '../../context.ts';
import { failure } from '../../syntax/failure.ts';
import { blockOf, duration, flag, integer, one } from '../../syntax/read.ts';
import type { Statement } from '../../syntax/statement.ts';
import type { ProxyDraft } from './draft.ts';

type Option = (line: Statement) => JsonValue;

/** Options of the upstreams of one `to` line. */
const UPSTREAM_OPTIONS: Readonly<Record<string, Option>> = {
  weight: (line) => bounded(line, 65_535),
  backup: (line) => {
    flag(line);
    return true;
  },
  max_requests: (line) => bounded(line, 1_000_000),
  slow_start: (line) => duration(one(line), 'bad slow_start'),
};

/** `to <upstream>… { weight <n>; backup; max_requests <n>; slow_start <duration> }`, for each upstream of the line. */
export function setUpstreamOptions(line: Statement, upstreams: readonly JsonObject[], draft: ProxyDraft): void {
  const written = new Set<string>();
  for (const option of blockOf(line)) {
    const { text } = option.name;
    const read = Object.hasOwn(UPSTREAM_OPTIONS, text) ? UPSTREAM_OPTIONS[text] : undefined;
    if (read === undefined) throw failure(option.name, `unrecognized option '${text}'`);
    if (written.has(text)) throw failure(option.name, `${text} already specified`);
    written.add(text);
    const value = read(option);
    for (const upstream of upstreams) {
      setField(upstream, text, value, option.name, draft.context.adaptation.origins);
    }
  }
}

function bounded(line: Statement, max: number): number {
  const token = one(line);
  const value = integer(token, `bad ${line.name.text}`);
  if (value < 0 || value > max) throw failure(token, `bad ${line.name.text} '${token.text}': write 0 to ${max}`);
  return value;
}
