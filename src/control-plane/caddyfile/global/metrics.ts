import type { JsonObject } from '../json.ts';
import { failure } from '../syntax/failure.ts';
import { blockOf, flag, some } from '../syntax/read.ts';
import type { Statement } from '../syntax/statement.ts';
import type { GlobalOption } from './option.ts';

const FLAGS: readonly string[] = ['per_host', 'observe_catchall_hosts', 'otlp'];

/** The flags of a `metrics` block. */
export function parseMetrics(statement: Statement): JsonObject {
  some({ ...statement, block: null }, 0, 0);
  const metrics: JsonObject = {};
  for (const line of blockOf(statement)) {
    const { text } = line.name;
    if (!FLAGS.includes(text)) throw failure(line.name, `unrecognized metrics option '${text}'`);
    flag(line);
    metrics[text] = true;
  }
  return metrics;
}

/** `metrics { per_host; observe_catchall_hosts; otlp }`. */
export const metrics: GlobalOption = {
  name: 'metrics',
  parse(statement, options) {
    options.metrics = parseMetrics(statement);
  },
};
