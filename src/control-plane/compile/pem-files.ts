/** Certificates and keys in files, as configs name them. */
import { X509Certificate, createPrivateKey } from 'node:crypto';
import { readFileSync, statSync } from 'node:fs';
import type { Compilation } from './compilation.ts';

/** All authorities of a system in one file are a quarter of this. */
const MAX_BYTES = 2 * 1024 * 1024;
const CERTIFICATE = /-----BEGIN CERTIFICATE-----[\s\S]+?-----END CERTIFICATE-----/g;

/** The certificates (PEM) in a file, at least one. `path` is the JSON path of its name. */
export function readCertificates(run: Compilation, path: string, file: string): string[] {
  const found = readFile(run, path, file).match(CERTIFICATE) ?? [];
  if (found.length === 0) run.fail(path, `${file} has no certificate: it should have BEGIN CERTIFICATE in it (PEM)`);
  return found.map((pem) => {
    try {
      return new X509Certificate(pem).toString();
    } catch (error) {
      return run.fail(path, `${file} has a certificate that cannot be read: ${messageOf(error)}`);
    }
  });
}

/** The same, of a file that is watched. */
export function readWatched(run: Compilation, path: string, file: string): string[] {
  run.watchedFiles.add(file);
  return readCertificates(run, path, file);
}

/** A private key (PEM) without a password that belongs to `certificate`. */
export function readKey(run: Compilation, path: string, file: string, certificate: string): string {
  const pem = readFile(run, path, file);
  let belongs = false;
  try {
    belongs = new X509Certificate(certificate).checkPrivateKey(createPrivateKey(pem));
  } catch (error) {
    run.fail(path, `${file} has no private key that can be read (PEM, without a password): ${messageOf(error)}`);
  }
  if (!belongs) run.fail(path, `the key in ${file} does not belong to the first certificate`);
  return pem;
}

function readFile(run: Compilation, path: string, file: string): string {
  try {
    const { size } = statSync(file);
    if (size <= MAX_BYTES) return readFileSync(file, 'latin1');
  } catch (error) {
    run.fail(path, `cannot read ${file}: ${messageOf(error)}`);
  }
  return run.fail(path, `${file} is larger than ${MAX_BYTES} bytes: name a file with certificates only`);
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
