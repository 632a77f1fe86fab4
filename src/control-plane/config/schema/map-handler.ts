/** The `map` handler. */
import { z } from 'zod';
import { re2Pattern } from './patterns.ts';
import { accept, list, object, text, textLike } from './primitives.ts';

export interface MapConfig {
  readonly handler: 'map';
  readonly source: string;
  /** In braces, as they are read. */
  readonly destinations: readonly string[];
  readonly mappings: readonly MappingConfig[];
  readonly defaults: readonly string[];
}

interface MappingConfig {
  readonly input: string;
  /** '' = `input` counts. */
  readonly input_regexp: string;
  /** One a destination; null = the next mapping decides. */
  readonly outputs: readonly (string | null)[];
}

const plain = accept('a text, a number or true/false', (value) => {
  return typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean'
    ? String(value)
    : undefined;
});

const mapping = object({
  input: text().default(''),
  input_regexp: re2Pattern().default(''),
  outputs: list(plain.nullable()).default([]),
}).refine((value) => value.input === '' || value.input_regexp === '', {
  error: 'expected either input or input_regexp',
});

const map = object({
  handler: z.literal('map'),
  source: text().default(''),
  destinations: list(textLike(/^\{[^\s{}"'\\;]+\}$/, 'a placeholder such as {name}')),
  mappings: list(mapping).default([]),
  defaults: list(plain).default([]),
});

export const mapSchema: z.ZodType<MapConfig> = map.superRefine((config, context) => {
  const refuse = (path: (string | number)[], message: string): void =>
    context.addIssue({ code: 'custom', path, message });
  const width = config.destinations.length;
  if (width === 0) refuse(['destinations'], 'expected at least one placeholder');
  const wrong = config.mappings.findIndex(({ outputs }) => outputs.length !== width);
  if (wrong >= 0) refuse(['mappings', wrong, 'outputs'], `expected ${width}, one for each destination`);
  if (config.defaults.length > 0 && config.defaults.length !== width) {
    refuse(['defaults'], `expected ${width}, one for each destination`);
  }
  const keys = config.mappings.map((value) => JSON.stringify([value.input, value.input_regexp]));
  const twice = keys.findIndex((key, index) => keys.indexOf(key) < index);
  if (twice >= 0) refuse(['mappings', twice], 'this input has a mapping already');
});
