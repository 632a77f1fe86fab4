import { readFileSync } from 'node:fs';
import { makeCredential } from '../../certificates/pem.ts';
import { readPkcs12 } from '../../certificates/pkcs12.ts';
import { passwordIn } from '../../certificates/source-files.ts';
import type { CertificateFilesConfig } from '../../config/schema/certificate-files.ts';
import { describePlace } from '../../config/positions.ts';
import type { Compilation } from '../compilation.ts';
import type { CertificateSpec } from '../compiled.ts';

export interface CompiledFiles {
  readonly spec: CertificateSpec;
  /** Lower case. */
  readonly names: readonly string[];
}

/** Looks into the file, so that a wrong password is told with file and line. `path` is the JSON path of the entry. */
export function compilePkcs12(run: Compilation, path: string, config: CertificateFilesConfig): CompiledFiles {
  const { certificate, tags, password_file: passwordFile } = config;
  const password = passwordFile === '' ? '' : passwordIn(read(run, path, passwordFile).toString('utf8'));
  const bytes = read(run, path, certificate);
  try {
    const { chain, key } = readPkcs12(bytes, password);
    const { names } = makeCredential(chain, key, tags).plan;
    const place = describePlace(run.context.positions, path);
    return { spec: { source: 'files', certificate, key: '', passwordFile, tags, place }, names };
  } catch (error) {
    return run.fail(path, `${certificate}: ${error instanceof Error ? error.message : String(error)}`);
  }
}

function read(run: Compilation, path: string, file: string): Buffer {
  try {
    return readFileSync(file);
  } catch (error) {
    return run.fail(path, `cannot read ${file}: ${error instanceof Error ? error.message : String(error)}`);
  }
}
