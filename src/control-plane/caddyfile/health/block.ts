import type { Origins } from '../context.ts';
import type { JsonObject } from '../json.ts';
import { failure } from '../syntax/failure.ts';
import { blockOf, oneWithBlock } from '../syntax/read.ts';
import type { Statement } from '../syntax/statement.ts';
import { nearestHint } from '../unknown-word.ts';
import { COMMON_OPTIONS, type HealthOptions, PROBE_OPTIONS } from './options.ts';

/** `health <probe> { … }` as the JSON of `health_checks.probe`. */
export function parseHealthBlock(line: Statement, origins: Origins): JsonObject {
  const probe = oneWithBlock(line);
  const own = Object.hasOwn(PROBE_OPTIONS, probe.text) ? PROBE_OPTIONS[probe.text] : undefined;
  if (own === undefined) {
    const names = Object.keys(PROBE_OPTIONS);
    throw failure(probe, `unknown probe '${probe.text}'${nearestHint(probe.text, names)}: write ${names.join(', ')}`);
  }
  const options: HealthOptions = { ...COMMON_OPTIONS, ...own };
  const target = origins.mark<JsonObject>({ probe: probe.text }, line.name);
  for (const option of blockOf(line)) {
    const { text } = option.name;
    const read = Object.hasOwn(options, text) ? options[text] : undefined;
    if (read === undefined) {
      const names = Object.keys(options);
      throw failure(
        option.name,
        `unknown option '${text}' of health ${probe.text}${nearestHint(text, names)}: it takes ${names.join(', ')}`,
      );
    }
    read(option, target, origins);
  }
  return target;
}
