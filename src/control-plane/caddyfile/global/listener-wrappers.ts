import { type Origins, setField } from '../context.ts';
import type { JsonObject } from '../json.ts';
import { expandRanges } from '../matchers/ranges.ts';
import { failure } from '../syntax/failure.ts';
import { blockOf, byteSize, duration, one, some } from '../syntax/read.ts';
import type { Statement } from '../syntax/statement.ts';

const FALLBACKS: readonly string[] = ['IGNORE', 'USE', 'REJECT', 'REQUIRE', 'SKIP'];

/** `listener_wrappers { http_redirect | proxy_protocol { … } | tls }`, outermost first. */
export function parseListenerWrappers(statement: Statement, origins: Origins): JsonObject[] {
  some({ ...statement, block: null }, 0, 0);
  return blockOf(statement).map((line) => origins.mark(parseWrapper(line, origins), line.name));
}

function parseWrapper(line: Statement, origins: Origins): JsonObject {
  some({ ...line, block: null }, 0, 0);
  const wrapper: JsonObject = { wrapper: line.name.text };
  switch (line.name.text) {
    case 'tls':
      for (const option of blockOf(line)) throw unknownOption(option);
      return wrapper;
    case 'http_redirect':
      for (const option of blockOf(line)) {
        if (option.name.text !== 'max_header_bytes') throw unknownOption(option);
        wrapper['max_header_bytes'] = byteSize(one(option));
      }
      return wrapper;
    case 'proxy_protocol':
      for (const option of blockOf(line)) readProxyProtocol(option, wrapper, origins);
      return wrapper;
    default:
      throw failure(line.name, `module not registered: caddy.listeners.${line.name.text}`);
  }
}

function readProxyProtocol(option: Statement, wrapper: JsonObject, origins: Origins): void {
  const { text } = option.name;
  if (text === 'timeout') {
    const timeout = duration(one(option), 'parsing proxy_protocol timeout duration');
    setField(wrapper, text, timeout, option.name, origins);
  } else if (text === 'allow' || text === 'deny') {
    const known = wrapper[text];
    const ranges = [...(Array.isArray(known) ? known : []), ...expandRanges(some(option, 1))];
    setField(wrapper, text, ranges, option.name, origins);
  } else if (text === 'fallback_policy') {
    const policy = one(option);
    const name = policy.text.toUpperCase();
    if (!FALLBACKS.includes(name)) {
      throw failure(policy, `bad fallback_policy '${policy.text}': write one of ${FALLBACKS.join(', ')}`);
    }
    setField(wrapper, text, name, option.name, origins);
  } else throw unknownOption(option);
}

function unknownOption(option: Statement): Error {
  return failure(option.name, `unrecognized subdirective '${option.name.text}'`);
}
