/** `storage`: a folder for certificates and account keys, which several nodes may share. */
import { z } from 'zod';
import { moduleOf } from './module.ts';
import { object, textLike } from './primitives.ts';

export interface StorageConfig {
  readonly module: 'file_system';
  readonly root: string;
}

export const storageSchema: z.ZodType<StorageConfig> = moduleOf<StorageConfig>({
  key: 'module',
  noun: 'storage',
  modules: () => ({
    file_system: object({ module: z.literal('file_system'), root: textLike(/./, 'a folder') }),
  }),
  notYet: [],
});
