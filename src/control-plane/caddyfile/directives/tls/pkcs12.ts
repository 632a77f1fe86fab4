import { setField } from '../../context.ts';
import type { Token } from '../../syntax/token.ts';
import type { TlsDraft } from './draft.ts';

/** By the end of its name: `tls` with such a file has no key behind it, but a password or nothing. */
export function isPkcs12({ text }: Token): boolean {
  return /\.(?:p12|pfx)$/i.test(text);
}

/** Without a file for it the password is empty. */
export function addPkcs12(file: Token, passwordFile: Token | undefined, draft: TlsDraft, tag: string): void {
  draft.files.push({
    certificate: file.text,
    format: 'pkcs12',
    ...(passwordFile === undefined ? {} : { password_file: passwordFile.text }),
    tags: [tag],
  });
  setField(draft.policy, 'certificate_selection', { any_tag: [tag] }, file, draft.origins);
}
