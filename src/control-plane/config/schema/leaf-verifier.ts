/** `verifiers` of `client_authentication`: certificates that are let in one by one. */
import { z } from 'zod';
import { moduleOf } from './module.ts';
import { list, object, text } from './primitives.ts';

export type LeafLoaderConfig =
  | { readonly loader: 'file'; readonly files: readonly string[] }
  | { readonly loader: 'folder'; readonly folders: readonly string[] }
  /** Texts with certificates in them. */
  | { readonly loader: 'pem'; readonly certificates: readonly string[] };

export interface LeafVerifierConfig {
  readonly verifier: 'leaf';
  readonly leaf_certs_loaders: readonly LeafLoaderConfig[];
}

const loader = moduleOf<LeafLoaderConfig>({
  key: 'loader',
  noun: 'loader of certificates',
  modules: () => ({
    file: object({ loader: z.literal('file'), files: list(text('a file')).default([]) }),
    folder: object({ loader: z.literal('folder'), folders: list(text('a folder')).default([]) }),
    pem: object({ loader: z.literal('pem'), certificates: list(text('a certificate (PEM)')).default([]) }),
  }),
  notYet: ['storage'],
});

export const leafVerifier: z.ZodType<LeafVerifierConfig> = moduleOf<LeafVerifierConfig>({
  key: 'verifier',
  noun: 'verifier',
  modules: () => ({
    leaf: object({ verifier: z.literal('leaf'), leaf_certs_loaders: list(loader).default([]) }),
  }),
  notYet: [],
});
