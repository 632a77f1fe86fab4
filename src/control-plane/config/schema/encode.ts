/** The `encode` handler. `br` is ours: Caddy has it as a plug-in only. */
import { z } from 'zod';
import { responseMatcherSchema, type ResponseMatcherConfig } from './header-ops.ts';
import { list, object, oneOf, orDefaults, orNull, wholeNumber } from './primitives.ts';

const FORMATS = ['gzip', 'zstd', 'br'] as const;
const ZSTD_LEVELS = ['fastest', 'default', 'better', 'best'] as const;
const MAX_MINIMUM_BYTES = 2 ** 30;

export type EncodingName = (typeof FORMATS)[number];
export type ZstdLevel = (typeof ZSTD_LEVELS)[number];

export interface EncodeConfig {
  readonly handler: 'encode';
  readonly encodings: {
    readonly gzip: { readonly level: number } | null;
    readonly zstd: { readonly level: ZstdLevel } | null;
    readonly br: { readonly level: number } | null;
  };
  readonly prefer: readonly EncodingName[];
  /** Bytes. */
  readonly minimum_length: number;
  /** null = what is usually text. */
  readonly match: ResponseMatcherConfig | null;
}

const encodings: z.ZodType<EncodeConfig['encodings']> = object({
  gzip: orNull(object({ level: wholeNumber(1, 9).default(5) })),
  zstd: orNull(object({ level: oneOf(ZSTD_LEVELS).default('default') })),
  br: orNull(object({ level: wholeNumber(0, 11).default(4) })),
});

export const encodeSchema: z.ZodType<EncodeConfig> = object({
  handler: z.literal('encode'),
  encodings: orDefaults(encodings),
  prefer: list(oneOf(FORMATS)).default([]),
  minimum_length: wholeNumber(0, MAX_MINIMUM_BYTES).default(512),
  match: orNull(responseMatcherSchema),
}).superRefine(({ encodings: enabled, prefer }, context) => {
  prefer.forEach((name, at) => {
    if (enabled[name] === null)
      context.addIssue({
        code: 'custom',
        path: ['prefer', at],
        message: `'${name}' is preferred but not among the encodings`,
      });
    else if (prefer.indexOf(name) < at)
      context.addIssue({ code: 'custom', path: ['prefer', at], message: `'${name}' is preferred twice` });
  });
});
