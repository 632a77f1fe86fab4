/** What is asked of an authority, in four calls. Behind them is a library that nobody else knows. */
import { watchedAgent } from './agent.ts';
import type { Authorization, Client, Order } from 'acme-client';
import type { AcmeIssuerSpec, ChallengeType } from '../../compile/managed-specs.ts';
import { IssueError, messageOf, retryAfterMs } from './errors.ts';

/** Between two looks at an order or a challenge. */
const POLL_MS = 250;
const MAX_POLL_MS = 5000;
const MAX_POLLS = 60;

interface AccountRequest {
  readonly email: string;
  readonly eab: AcmeIssuerSpec['eab'];
}

/** One proof that has to be given for an order. */
export interface Proof {
  /** Without `*.`. */
  readonly name: string;
  readonly type: ChallengeType;
  readonly token: string;
  /** What is to be shown; with `dns-01` its digest (RFC 8555 section 8.4). */
  readonly keyAuthorization: string;
  /** With `tls-alpn-01`: the certificate to be shown. */
  alpnCertificate(): Promise<{ readonly chain: string; readonly key: string }>;
  /** Tells the authority to look, and waits until it is content. */
  submit(): Promise<void>;
}

interface PlacedOrder {
  readonly proofs: readonly Proof[];
  /** Waits for the certificate: PEM, leaf first. */
  finish(csr: string): Promise<string>;
}

export interface AcmeClient {
  /** Makes the account or finds it; returns its URL. */
  openAccount(request: AccountRequest): Promise<string>;
  /** `replaces`: certID of the certificate it stands in for (RFC 9773 section 5), '' = none. */
  order(
    name: string,
    type: ChallengeType,
    options: { readonly profile: string; readonly replaces: string },
  ): Promise<PlacedOrder>;
}

export interface ClientOptions {
  readonly directory: string;
  readonly trustedRoots: readonly string[];
  /** PEM. */
  readonly accountKey: string;
  /** '' = not known yet. */
  readonly accountUrl: string;
  readonly eab: AcmeIssuerSpec['eab'];
  readonly signal: AbortSignal;
  readonly wall: () => number;
}

/** Every call rejects with an `IssueError`. */
export async function openAcmeClient(options: ClientOptions): Promise<AcmeClient> {
  const library = await import('./library.ts');
  const { eab, trustedRoots } = options;
  const watched = watchedAgent(trustedRoots);
  const client = new library.Client({
    directoryUrl: options.directory,
    accountKey: options.accountKey,
    ...(options.accountUrl === '' ? {} : { accountUrl: options.accountUrl }),
    ...(eab === null ? {} : { externalAccountBinding: { kid: eab.keyId, hmacKey: eab.macKey } }),
    backoffAttempts: MAX_POLLS,
    backoffMin: POLL_MS,
    backoffMax: MAX_POLL_MS,
  });
  const call = async <T>(work: () => Promise<T>): Promise<T> => {
    const context = { agent: watched.agent, signal: options.signal, retryAfter: undefined };
    watched.forget();
    try {
      return await library.withinCall(context, work);
    } catch (error) {
      const why = options.signal.aborted ? abortReason(options.signal) : (watched.trouble() ?? explain(error));
      throw new IssueError(why, retryAfterMs(context.retryAfter, options.wall()), error);
    }
  };
  return {
    openAccount: ({ email }) =>
      call(async () => {
        const contact = email === '' ? {} : { contact: [`mailto:${email}`] };
        await client.createAccount({ termsOfServiceAgreed: true, ...contact });
        return client.getAccountUrl();
      }),
    order: (name, type, { profile, replaces }) =>
      call(async () => {
        const wish = {
          identifiers: [{ type: 'dns', value: name }],
          ...(profile === '' ? {} : { profile }),
          ...(replaces === '' ? {} : { replaces }),
        };
        const order = await client.createOrder(wish);
        const open = (await client.getAuthorizations(order)).filter(({ status }) => status === 'pending');
        const proofs = await Promise.all(open.map((authorization) => proofFor(client, authorization, type, call)));
        return { proofs, finish: (csr) => call(() => finishOrder(client, order, csr)) };
      }),
  };
}

async function proofFor(
  client: Client,
  authorization: Authorization,
  type: ChallengeType,
  call: <T>(work: () => Promise<T>) => Promise<T>,
): Promise<Proof> {
  const challenge = authorization.challenges.find((offered) => offered.type === type);
  const name = authorization.identifier.value;
  if (challenge === undefined) {
    const offered = authorization.challenges.map((other) => other.type).join(', ');
    throw new Error(`the authority does not take ${type} for ${name}, only ${offered}`);
  }
  const keyAuthorization = await client.getChallengeKeyAuthorization(challenge);
  return {
    name,
    type,
    token: challenge.token,
    keyAuthorization,
    async alpnCertificate() {
      const { crypto } = await import('./library.ts');
      const [key, chain] = await crypto.createAlpnCertificate(
        authorization,
        keyAuthorization,
        await crypto.createPrivateEcdsaKey(),
      );
      return { chain: chain.toString(), key: key.toString() };
    },
    submit: () =>
      call(async () => {
        await client.completeChallenge(challenge);
        await client.waitForValidStatus(challenge);
      }),
  };
}

async function finishOrder(client: Client, order: Order, csr: string): Promise<string> {
  return client.getCertificate(await client.finalizeOrder(order, csr));
}

function abortReason({ reason }: AbortSignal): string {
  const isLate = reason instanceof Error && reason.name === 'TimeoutError';
  return isLate ? 'it took too long' : messageOf(reason);
}

/** Of a failed challenge the library shows the whole object. */
function explain(error: unknown): string {
  const message = messageOf(error);
  const detail = /"detail":"((?:[^"\\]|\\.)*)"/.exec(message)?.[1];
  return detail === undefined ? message || 'the authority gave no reason' : (JSON.parse(`"${detail}"`) as string);
}
