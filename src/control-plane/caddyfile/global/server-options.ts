import { type Adaptation, setField, warn } from '../context.ts';
import type { JsonObject, JsonValue } from '../json.ts';
import { expandRanges } from '../matchers/ranges.ts';
import { failure } from '../syntax/failure.ts';
import { blockOf, byteSize, duration, flag, integer, one, some, texts, wrongCount } from '../syntax/read.ts';
import type { Statement } from '../syntax/statement.ts';
import { parseLimits } from './limits.ts';
import { parseListenerWrappers } from './listener-wrappers.ts';
import { parseMetrics } from './metrics.ts';
import type { ServerOptions } from './option.ts';
import { parseTimeouts } from './timeouts.ts';

type Option = (line: Statement, block: ServerOptions, adaptation: Adaptation) => void;

function field(name: string, read: (line: Statement, block: ServerOptions) => JsonValue): Option {
  return (line, block, { origins }) => setField(block.fields, name, read(line, block), line.name, origins);
}

function isSet(line: Statement): JsonValue {
  flag(line);
  return true;
}

/** One list over several lines. */
function list(name: string): Option {
  return field(name, (line, block) => {
    const known = block.fields[name];
    return [...(Array.isArray(known) ? known : []), ...texts(some(line, 1))];
  });
}

/** The lines of a `servers` block. */
export const SERVER_OPTIONS: Readonly<Record<string, Option>> = {
  name: (line, block) => {
    if (block.address === null) throw failure(line.name, 'cannot set a name for a server without an address');
    block.name = one(line).text;
  },
  accept: field('accept', (line) => {
    const mode = one(line);
    if (mode.text !== 'kernel' && mode.text !== 'shared') {
      throw failure(mode, `bad accept mode '${mode.text}': write kernel or shared`);
    }
    return mode.text;
  }),
  listener_wrappers: (line, block, { origins }) => {
    setField(block.fields, 'listener_wrappers', parseListenerWrappers(line, origins), line.name, origins);
  },
  limits: (line, block, adaptation) => parseLimits(line, block.fields, adaptation),
  timeouts: (line, block, adaptation) => parseTimeouts(line, block.fields, adaptation),
  keepalive_interval: field('keepalive_interval', (line) => duration(one(line))),
  keepalive_idle: field('keepalive_idle', (line) => duration(one(line))),
  keepalive_count: field('keepalive_count', (line) => integer(one(line), 'bad keepalive_count number')),
  max_header_size: field('max_header_bytes', (line) => byteSize(one(line))),
  enable_full_duplex: field('enable_full_duplex', isSet),
  expected_underscore_headers: list('expected_underscore_headers'),
  expected_dot_headers: list('expected_dot_headers'),
  log_credentials: (line, block) => {
    flag(line);
    block.logCredentials = true;
  },
  protocols: field('protocols', protocols),
  strict_sni_host: field('strict_sni_host', (line) => {
    const [mode] = some(line, 0, 1);
    if (mode === undefined || mode.text === 'on') return true;
    if (mode.text === 'insecure_off') return false;
    throw failure(mode, `bad strict_sni_host '${mode.text}': write on or insecure_off`);
  }),
  trusted_proxies: field('trusted_proxies', trustedProxies),
  trusted_proxies_strict: field('trusted_proxies_strict', (line) => {
    flag(line);
    return 1;
  }),
  trusted_proxies_unix: field('trusted_proxies_unix', isSet),
  client_ip_headers: list('client_ip_headers'),
  metrics: (line, block, adaptation) => {
    const message = "'metrics' in a servers block is deprecated: write it as a global option";
    warn(adaptation, line.name, 'servers', message);
    block.metrics = parseMetrics(line);
  },
  trace: field('trace', isSet),
  '0rtt': field('allow_0rtt', (line) => {
    const mode = one(line);
    if (mode.text !== 'off') throw failure(mode, `unsupported 0rtt argument '${mode.text}' (only 'off' is supported)`);
    return false;
  }),
};

function protocols(line: Statement, block: ServerOptions): JsonValue {
  if (block.fields['protocols'] !== undefined) throw failure(line.name, 'protocols already specified');
  const known = ['h1', 'h2', 'h2c', 'h3'];
  const names = some(line, 1);
  for (const [index, token] of names.entries()) {
    if (!known.includes(token.text))
      throw failure(token, `unknown protocol '${token.text}': expected h1, h2, h2c, or h3`);
    if (names.findIndex((other) => other.text === token.text) !== index) {
      throw failure(token, `protocol ${token.text} specified more than once`);
    }
  }
  return texts(names);
}

function trustedProxies(line: Statement, block: ServerOptions): JsonObject {
  const [source, ...ranges] = line.args;
  if (source === undefined) throw wrongCount(line);
  if (source.text !== 'static') {
    throw failure(source, `module not registered: http.ip_sources.${source.text}; the only source is static`);
  }
  if (block.fields['trusted_proxies'] !== undefined) throw failure(line.name, 'trusted_proxies already specified');
  for (const inner of blockOf(line)) throw failure(inner.name, `unrecognized subdirective '${inner.name.text}'`);
  if (ranges.length === 0) throw wrongCount(line);
  return { source: 'static', ranges: expandRanges(ranges) };
}
