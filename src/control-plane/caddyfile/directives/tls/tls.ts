import { type Directive, setField, type SiteContext, type SiteValue } from '../../context.ts';
import { failure } from '../../syntax/failure.ts';
import { blockOf, wrongCount } from '../../syntax/read.ts';
import type { Statement } from '../../syntax/statement.ts';
import type { Token } from '../../syntax/token.ts';
import { nearestHint } from '../../unknown-word.ts';
import { clientAuth } from './client-auth.ts';
import { newTlsDraft, type TlsDraft } from './draft.ts';
import { issuer } from './issuer.ts';
import { alpn, ciphers, curves, load, protocols } from './options.ts';

type Option = (line: Statement, draft: TlsDraft) => void;

const OPTIONS: Readonly<Record<string, Option>> = Object.freeze({
  alpn,
  ciphers,
  client_auth: clientAuth,
  curves,
  issuer,
  load,
  protocols,
});

/** Words of Caddy's that come with public authorities, and rarer ones. */
const NOT_YET: readonly string[] = Object.freeze([
  'ca',
  'ca_root',
  'dns',
  'dns_challenge_override_domain',
  'dns_ttl',
  'eab',
  'force_automate',
  'get_certificate',
  'insecure_secrets_log',
  'key_type',
  'on_demand',
  'propagation_delay',
  'propagation_timeout',
  'renewal_window_ratio',
  'resolvers',
  'reuse_private_keys',
]);

/** `tls [internal | <email> | <certificate> <key>] { … }`. */
export const tls: Directive = {
  name: 'tls',
  parse(statement: Statement, { adaptation }: SiteContext): SiteValue[] {
    if (statement.args.length === 0 && statement.block === null) throw wrongCount(statement);
    const { origins } = adaptation;
    const draft = newTlsDraft(origins);
    readArguments(statement, draft, () => `cert${adaptation.nextCertificate++}`);
    for (const line of blockOf(statement)) readOption(line, draft);
    for (const object of [draft.policy, ...draft.files, ...draft.issuers]) origins.mark(object, statement.name);
    const { policy, files, folders, issuers } = draft;
    return [{ kind: 'tls', policy, files, folders, issuers, token: statement.name }];
  },
};

function readArguments({ args }: Statement, draft: TlsDraft, nextTag: () => string): void {
  const [first, second, surplus] = args;
  if (first === undefined) return;
  if (surplus !== undefined)
    throw failure(surplus, `wrong argument count or unexpected line ending after '${surplus.text}'`);
  if (second !== undefined) addFiles(first, second, draft, nextTag());
  else if (first.text === 'internal') draft.issuers.push({ module: 'internal' });
  else if (first.text.includes('@')) draft.issuers.push({ module: 'acme', email: first.text });
  else if (first.text === 'force_automate') throw failure(first, "'force_automate' is not supported yet");
  else throw failure(first, "single argument must either be 'internal', or an email address");
}

function addFiles(certificate: Token, key: Token, draft: TlsDraft, tag: string): void {
  draft.files.push({ certificate: certificate.text, key: key.text, tags: [tag] });
  setField(draft.policy, 'certificate_selection', { any_tag: [tag] }, certificate, draft.origins);
}

function readOption(line: Statement, draft: TlsDraft): void {
  const { text } = line.name;
  const parse = Object.hasOwn(OPTIONS, text) ? OPTIONS[text] : undefined;
  if (parse !== undefined) return parse(line, draft);
  if (NOT_YET.includes(text)) throw failure(line.name, `'${text}' in tls is not supported yet`);
  throw failure(line.name, `unknown subdirective: ${text}${nearestHint(text, Object.keys(OPTIONS))}`);
}
