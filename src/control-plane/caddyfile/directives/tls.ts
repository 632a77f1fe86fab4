import type { Directive, SiteContext, SiteValue } from '../context.ts';
import { failure } from '../syntax/failure.ts';
import { some } from '../syntax/read.ts';
import type { Statement } from '../syntax/statement.ts';

/** `tls <certificate file> <key file>`. The automatic forms are not available. */
export const tls: Directive = {
  name: 'tls',
  parse(statement: Statement, context: SiteContext): SiteValue[] {
    if (statement.block !== null || statement.args.length !== 2) {
      throw failure(statement.name, 'only `tls <certificate file> <key file>` is available');
    }
    const [certificate, key] = some(statement, 2, 2);
    const tag = `cert${context.adaptation.nextCertificate++}`;
    const { origins } = context.adaptation;
    return [
      {
        kind: 'tls',
        certificate: origins.mark(
          { certificate: certificate?.text ?? '', key: key?.text ?? '', tags: [tag] },
          statement.name,
        ),
        policy: origins.mark({ certificate_selection: { any_tag: [tag] } }, statement.name),
      },
    ];
  },
};
