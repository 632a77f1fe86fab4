/** Certificates that the config brings along. They are looked at here, so that a fault has file and line. */
import { readCertificates, readKey } from '../pem-files.ts';
import { checkPair, namesOf, parseChain } from '../../certificates/pem.ts';
import type { TlsAppConfig } from '../../config/schema/tls-app.ts';
import { describePlace } from '../../config/positions.ts';
import type { Compilation } from '../compilation.ts';
import type { CertificateSpec } from '../compiled.ts';
import { compilePkcs12 } from './pkcs12-files.ts';

export interface LoadedCertificates {
  readonly specs: readonly CertificateSpec[];
  /** Lower case. */
  readonly names: ReadonlySet<string>;
}

export function compileLoaded(run: Compilation, { certificates }: TlsAppConfig): LoadedCertificates {
  const base = 'apps.tls.certificates';
  const names = new Set<string>();
  const specs: CertificateSpec[] = [];
  for (const [at, entry] of certificates.load_files.entries()) {
    const path = `${base}.load_files.${at}`;
    const { certificate, key, tags } = entry;
    if (entry.format === 'pkcs12') {
      const spec = compilePkcs12(run, path, entry);
      for (const name of spec.names) names.add(name);
      specs.push(spec.spec);
      continue;
    }
    const chain = readCertificates(run, path, certificate);
    readKey(run, path, key, chain[0]!);
    for (const name of namesOf(chain[0]!)) names.add(name);
    specs.push({ source: 'files', certificate, key, tags, place: describePlace(run.context.positions, path) });
  }
  for (const [at, { certificate, key, tags }] of certificates.load_pem.entries()) {
    const path = `${base}.load_pem.${at}`;
    try {
      const [leaf] = parseChain(certificate);
      checkPair(leaf!, key);
      for (const name of namesOf(leaf!)) names.add(name);
    } catch (error) {
      run.fail(path, error instanceof Error ? error.message : String(error));
    }
    specs.push({ source: 'pem', certificate, key, tags, place: describePlace(run.context.positions, path) });
  }
  for (const [at, folder] of certificates.load_folders.entries()) {
    const place = describePlace(run.context.positions, `${base}.load_folders.${at}`);
    specs.push({ source: 'folder', folder, tags: [], place });
  }
  return { specs, names };
}
