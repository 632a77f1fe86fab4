import { type Adaptation, trackFields } from '../../context.ts';
import type { JsonObject, JsonValue } from '../../json.ts';
import { failure } from '../../syntax/failure.ts';
import { blockOf, byteSize, duration, integer, one, some, texts, wrongCount } from '../../syntax/read.ts';
import type { Statement } from '../../syntax/statement.ts';
import { nearestHint } from '../../unknown-word.ts';
import type { SubdirectiveTable } from './draft.ts';
import { TLS_OPTIONS } from './transport-tls.ts';

/** Writes what one line of the block says into the transport. */
type TransportOption = (line: Statement, transport: JsonObject) => void;

function field(name: string, read: (line: Statement) => JsonValue): TransportOption {
  return (line, transport) => void (transport[name] = read(line));
}

/** A field of an object inside the transport, which comes into being with its first field. */
function inner(name: string, key: string, read: (line: Statement) => JsonValue): TransportOption {
  return (line, transport) => {
    const known = transport[name];
    const base =
      known !== undefined && known !== null && typeof known === 'object' && !Array.isArray(known) ? known : {};
    transport[name] = { ...base, [key]: read(line) };
  };
}

const size = (line: Statement): number => byteSize(one(line));
const time = (line: Statement): number => duration(one(line));
const number = (line: Statement): number => integer(one(line), `bad ${line.name.text} number`);

const OPTIONS: Readonly<Record<string, TransportOption>> = {
  read_buffer: field('read_buffer_size', size),
  write_buffer: field('write_buffer_size', size),
  read_timeout: field('read_timeout', time),
  write_timeout: field('write_timeout', time),
  max_response_header: field('max_response_header_size', size),
  proxy_protocol: field('proxy_protocol', (line) => choice(line, ['v1', 'v2'])),
  forward_proxy_url: field('network_proxy', (line) => ({ from: 'url', url: one(line).text })),
  network_proxy: field('network_proxy', networkProxy),
  dial_timeout: field('dial_timeout', time),
  dial_fallback_delay: field('dial_fallback_delay', time),
  response_header_timeout: field('response_header_timeout', time),
  expect_continue_timeout: field('expect_continue_timeout', time),
  resolvers: field('resolver', (line) => ({ addresses: texts(some(line, 1)) })),
  keepalive: (line, transport) => {
    const off = one(line).text === 'off';
    const option = off ? inner('keep_alive', 'enabled', () => false) : inner('keep_alive', 'idle_timeout', time);
    option(line, transport);
  },
  keepalive_interval: inner('keep_alive', 'probe_interval', time),
  keepalive_idle_conns: inner('keep_alive', 'max_idle_conns', number),
  keepalive_idle_conns_per_host: inner('keep_alive', 'max_idle_conns_per_host', number),
  versions: field('versions', (line) => texts(some(line, 1))),
  compression: (line, transport) => {
    if (choice(line, ['on', 'off']) === 'off') transport['compression'] = false;
  },
  max_conns_per_host: field('max_conns_per_host', number),
  local_address: field('local_address', (line) => one(line).text),
  ...TLS_OPTIONS,
};

/** `transport http { … }`. */
export const TRANSPORT_SUBDIRECTIVES: SubdirectiveTable = {
  transport: (line, draft) => {
    const [protocol, surplus] = line.args;
    if (protocol === undefined || surplus !== undefined) throw wrongCount(line);
    if (draft.transport !== null) throw failure(line.name, 'transport already specified');
    if (protocol.text !== 'http') {
      const what = `module not registered: http.reverse_proxy.transport.${protocol.text}`;
      throw failure(protocol, `${what}; the only transport is http`);
    }
    draft.transport = parseTransport(line, draft.context.adaptation);
  },
};

function parseTransport(statement: Statement, adaptation: Adaptation): JsonObject {
  const transport = adaptation.origins.mark<JsonObject>({ protocol: 'http' }, statement.name);
  for (const line of blockOf(statement)) {
    const { text } = line.name;
    const option = Object.hasOwn(OPTIONS, text) ? OPTIONS[text] : undefined;
    if (option === undefined) {
      throw failure(line.name, `unrecognized subdirective ${text}${nearestHint(text, Object.keys(OPTIONS))}`);
    }
    trackFields([transport], line, adaptation.origins, () => option(line, transport));
  }
  return transport;
}

function choice(line: Statement, allowed: readonly string[]): string {
  const token = one(line);
  if (allowed.includes(token.text)) return token.text;
  throw failure(token, `bad ${line.name.text} '${token.text}': write ${allowed.join(' or ')}`);
}

function networkProxy(line: Statement): JsonObject {
  const [from, url] = some(line, 1, 2);
  if (from?.text === 'none' && url === undefined) return { from: 'none' };
  if (from?.text === 'url' && url !== undefined) return { from: 'url', url: url.text };
  throw failure(from ?? line.name, 'write `network_proxy url <url>` or `network_proxy none`');
}
