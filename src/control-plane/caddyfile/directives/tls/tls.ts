import { type Directive, setField, type SiteContext, type SiteValue } from '../../context.ts';
import { failure } from '../../syntax/failure.ts';
import { blockOf, wrongCount } from '../../syntax/read.ts';
import type { Statement } from '../../syntax/statement.ts';
import type { Token } from '../../syntax/token.ts';
import { nearestHint } from '../../unknown-word.ts';
import { ACME_OPTIONS } from './acme-options.ts';
import { keyType, onDemand, renewalWindowRatio } from './automation.ts';
import { clientAuth } from './client-auth.ts';
import { newTlsDraft, type TlsDraft } from './draft.ts';
import { issuer } from './issuer.ts';
import { addPkcs12, isPkcs12 } from './pkcs12.ts';
import { alpn, ciphers, curves, load, protocols } from './options.ts';

type Option = (line: Statement, draft: TlsDraft) => void;

const OPTIONS: Readonly<Record<string, Option>> = Object.freeze({
  alpn,
  ciphers,
  client_auth: clientAuth,
  curves,
  ca: implicit('ca'),
  ca_root: implicit('ca_root'),
  dns: implicit('dns'),
  eab: implicit('eab'),
  issuer,
  key_type: keyType,
  load,
  on_demand: onDemand,
  propagation_delay: implicit('propagation_delay'),
  protocols,
  renewal_window_ratio: renewalWindowRatio,
});

/** Words of Caddy's that come with public authorities, and rarer ones. */
const NOT_YET: readonly string[] = Object.freeze([
  'dns_challenge_override_domain',
  'dns_ttl',
  'force_automate',
  'get_certificate',
  'insecure_secrets_log',
  'propagation_timeout',
  'resolvers',
  'reuse_private_keys',
]);

/** `tls [internal | <email> | <certificate> <key> | <.p12 file> [<password file>]] { … }`. */
export const tls: Directive = {
  name: 'tls',
  parse(statement: Statement, { adaptation }: SiteContext): SiteValue[] {
    if (statement.args.length === 0 && statement.block === null) throw wrongCount(statement);
    const { origins } = adaptation;
    const draft = newTlsDraft(origins);
    readArguments(statement, draft, () => `cert${adaptation.nextCertificate++}`);
    for (const line of blockOf(statement)) readOption(line, draft);
    for (const object of [draft.policy, ...draft.files, ...draft.issuers]) origins.mark(object, statement.name);
    const { policy, files, folders, issuers, automation } = draft;
    const acme = Object.keys(draft.acme).length > 0 ? origins.mark(draft.acme, statement.name) : null;
    if (acme !== null && issuers.length > 0) {
      throw failure(
        statement.name,
        'options of an issuer stand beside `issuer` lines: move them into the block of one',
      );
    }
    return [{ kind: 'tls', policy, files, folders, issuers, acme, automation, token: statement.name }];
  },
};

function readArguments({ args }: Statement, draft: TlsDraft, nextTag: () => string): void {
  const [first, second, surplus] = args;
  if (first === undefined) return;
  if (surplus !== undefined)
    throw failure(surplus, `wrong argument count or unexpected line ending after '${surplus.text}'`);
  if (isPkcs12(first)) addPkcs12(first, second, draft, nextTag());
  else if (second !== undefined) addFiles(first, second, draft, nextTag());
  else if (first.text === 'internal') draft.issuers.push({ module: 'internal' });
  else if (first.text.includes('@')) setField(draft.acme, 'email', first.text, first, draft.origins);
  else if (first.text === 'force_automate') throw failure(first, "'force_automate' is not supported yet");
  else throw failure(first, "single argument must either be 'internal', or an email address");
}

function addFiles(certificate: Token, key: Token, draft: TlsDraft, tag: string): void {
  draft.files.push({ certificate: certificate.text, key: key.text, tags: [tag] });
  setField(draft.policy, 'certificate_selection', { any_tag: [tag] }, certificate, draft.origins);
}

/** An option of the issuer that nobody wrote. */
function implicit(name: 'ca' | 'ca_root' | 'dns' | 'eab' | 'propagation_delay'): Option {
  return (line, { acme, origins }) => ACME_OPTIONS[name]?.(line, acme, origins);
}

function readOption(line: Statement, draft: TlsDraft): void {
  const { text } = line.name;
  const parse = Object.hasOwn(OPTIONS, text) ? OPTIONS[text] : undefined;
  if (parse !== undefined) return parse(line, draft);
  if (NOT_YET.includes(text)) throw failure(line.name, `'${text}' in tls is not supported yet`);
  throw failure(line.name, `unknown subdirective: ${text}${nearestHint(text, Object.keys(OPTIONS))}`);
}
