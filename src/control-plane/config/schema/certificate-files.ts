/** Certificates that a config brings along: `load_files` and `load_pem` of `apps.tls.certificates`. */
import { z } from 'zod';
import { list, object, oneOf, text } from './primitives.ts';

/** Of `load_pem`: the texts themselves. */
export interface CertificatePairConfig {
  readonly certificate: string;
  readonly key: string;
  readonly tags: readonly string[];
}

/** Of `load_files`: names of files. */
export interface CertificateFilesConfig extends CertificatePairConfig {
  /** pkcs12: certificate, chain and key are in one file, and `key` is ''. */
  readonly format: 'pem' | 'pkcs12';
  /** File with the password of a PKCS#12 file; '' = the empty password. */
  readonly password_file: string;
}

export const certificatePair: z.ZodType<CertificatePairConfig> = object({
  certificate: text('a certificate'),
  key: text('a private key'),
  tags: list(text('a tag')).default([]),
  format: z.literal('pem').optional(),
});

export const certificateFiles: z.ZodType<CertificateFilesConfig> = object({
  certificate: text('a file'),
  key: text('a file').default(''),
  tags: list(text('a tag')).default([]),
  format: oneOf(['pem', 'pkcs12']).default('pem'),
  password_file: text('a file').default(''),
}).superRefine(({ key, format, password_file: passwordFile }, context) => {
  const refuse = (message: string): void => context.addIssue({ code: 'custom', message });
  if (format === 'pem' && key === '') refuse('a certificate in PEM needs the file of its key: add key');
  if (format === 'pem' && passwordFile !== '') refuse('password_file is for the format pkcs12; a key in PEM has none');
  if (format === 'pkcs12' && key !== '') refuse('a PKCS#12 file holds its key: leave key out');
});
