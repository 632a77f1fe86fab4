/** `apps.layer4`. */
import type { z } from 'zod';
import { mapOf, object } from '../primitives.ts';
import { layer4ServerSchema } from './server.ts';
import type { Layer4ServerConfig } from './server.ts';

export interface Layer4AppConfig {
  readonly servers: Readonly<Record<string, Layer4ServerConfig>>;
}

export const layer4AppSchema: z.ZodType<Layer4AppConfig> = object({
  servers: mapOf(layer4ServerSchema).default({}),
});
