/** `admin`: the endpoint for operators and programs. */
import type { z } from 'zod';
import { flag, list, notYet, object, only, text } from './primitives.ts';

export interface AdminConfig {
  readonly disabled: boolean;
  readonly listen: string;
  readonly origins: readonly string[];
  readonly enforce_origin: boolean;
}

/** `persist: false` asks for what happens anyway: the config in force is not written to disk. */
const persistence = object({ persist: only([false], 'admin.config.persist'), load: notYet('admin.config.load') });

export const adminSchema: z.ZodType<AdminConfig> = object({
  disabled: flag().default(false),
  listen: text('an address such as localhost:2019').default('localhost:2019'),
  origins: list(text('an origin such as https://ops.example.com')).default([]),
  enforce_origin: flag().default(false),
  config: persistence.optional(),
  identity: notYet('admin.identity'),
  remote: notYet('admin.remote'),
});
