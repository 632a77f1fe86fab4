/** The whole config. */
import type { z } from 'zod';
import { adminSchema } from './admin.ts';
import type { AdminConfig } from './admin.ts';
import { httpAppSchema } from './http-app.ts';
import type { HttpAppConfig } from './http-app.ts';
import { layer4AppSchema } from './layer4/app.ts';
import type { Layer4AppConfig } from './layer4/app.ts';
import { loggingSchema } from './logging.ts';
import type { LoggingConfig } from './logging.ts';
import { pkiAppSchema, tlsAppSchema } from './tls-app.ts';
import type { PkiAppConfig, TlsAppConfig } from './tls-app.ts';
import { storageSchema, type StorageConfig } from './storage.ts';
import { notYet, object, orDefaults, orNull } from './primitives.ts';

/**
 * A validated config with every default filled in. Names are those of the JSON; durations are
 * milliseconds, sizes bytes; null stands for "not written" where that differs from a default.
 */
export interface Config {
  readonly admin: AdminConfig;
  readonly logging: LoggingConfig;
  /** Where certificates of public authorities are kept; null = the data directory. */
  readonly storage: StorageConfig | null;
  readonly apps: {
    readonly http: HttpAppConfig;
    readonly layer4: Layer4AppConfig;
    readonly tls: TlsAppConfig;
    readonly pki: PkiAppConfig;
  };
}

const apps = object({
  http: orDefaults(httpAppSchema),
  tls: orDefaults(tlsAppSchema),
  layer4: orDefaults(layer4AppSchema),
  pki: orDefaults(pkiAppSchema),
  events: notYet('events'),
});

export const configSchema: z.ZodType<Config> = object({
  admin: orDefaults(adminSchema),
  logging: orDefaults(loggingSchema),
  apps: orDefaults(apps),
  storage: orNull(storageSchema),
});
