/** One certificate from one authority: account, order, proofs, certificate. */
import type { AcmeIssuerSpec, ChallengeType, IssueTerms } from '../../compile/managed-specs.ts';
import { forgetAccount, openAccount, type AccountDeps } from './accounts.ts';
import type { Challenges } from './challenges.ts';
import type { AcmeClient, Proof } from './client.ts';
import { makeSigningRequest } from './csr.ts';
import { presentRecord } from './dns-hook.ts';
import { IssueError, messageOf } from './errors.ts';

/** How authorities say that they do not know an account, in all the wordings met so far. */
const ACCOUNT_UNKNOWN = /\baccount\b.*\b(?:not|no|unknown)\b|\b(?:unable|unknown|no)\b.*\baccount\b/i;

export interface IssueDeps extends AccountDeps {
  readonly challenges: Challenges;
}

export interface IssueRequest {
  readonly name: string;
  readonly terms: IssueTerms;
  /** certID of the certificate it stands in for, '' = none. */
  readonly replaces: string;
  readonly signal: AbortSignal;
}

/** PEM. */
export interface Issued {
  readonly chain: string;
  readonly key: string;
}

/** Tries every challenge in turn. Rejects with an `IssueError`. */
export async function issueByAcme(issuer: AcmeIssuerSpec, request: IssueRequest, deps: IssueDeps): Promise<Issued> {
  const timeout = AbortSignal.any([request.signal, AbortSignal.timeout(issuer.timeoutMs)]);
  const bounded = { ...request, signal: timeout };
  try {
    return await withAccount(issuer, deps, timeout, (client) => tryChallenges(client, issuer, bounded, deps));
  } catch (error) {
    if (error instanceof IssueError) throw error;
    throw new IssueError(messageOf(error), 0, error);
  }
}

/** An account that the authority has forgotten is opened anew, once. */
async function withAccount<T>(
  issuer: AcmeIssuerSpec,
  deps: AccountDeps,
  signal: AbortSignal,
  work: (client: AcmeClient) => Promise<T>,
): Promise<T> {
  const client = await openAccount(issuer, deps, signal);
  try {
    return await work(client);
  } catch (error) {
    // RFC 8555 section 6.7 has a type for it, which the library does not hand on.
    if (signal.aborted || !ACCOUNT_UNKNOWN.test(messageOf(error))) throw error;
    await forgetAccount(issuer, deps);
    return work(await openAccount(issuer, deps, signal));
  }
}

async function tryChallenges(
  client: AcmeClient,
  issuer: AcmeIssuerSpec,
  request: IssueRequest,
  deps: IssueDeps,
): Promise<Issued> {
  const failures: string[] = [];
  let retryAfterMs = 0;
  for (const type of issuer.challenges) {
    try {
      return await placeOrder(client, issuer, type, request, deps);
    } catch (error) {
      failures.push(`${type}: ${messageOf(error)}`);
      retryAfterMs = error instanceof IssueError ? error.retryAfterMs : 0;
      // Who is told to come later does not come again at once with something else.
      if (retryAfterMs > 0 || request.signal.aborted) break;
    }
  }
  throw new IssueError(failures.join('; '), retryAfterMs);
}

async function placeOrder(
  client: AcmeClient,
  issuer: AcmeIssuerSpec,
  type: ChallengeType,
  { name, terms, replaces, signal }: IssueRequest,
  deps: IssueDeps,
): Promise<Issued> {
  const order = await client.order(name, type, { profile: issuer.profile, replaces });
  for (const proof of order.proofs) await prove(proof, issuer, deps, signal);
  const { csr, key } = await makeSigningRequest(name, terms.keyType, terms.mustStaple);
  return { chain: await order.finish(csr), key };
}

async function prove(proof: Proof, issuer: AcmeIssuerSpec, deps: IssueDeps, signal: AbortSignal): Promise<void> {
  const close =
    proof.type === 'dns-01' && issuer.dns !== null
      ? await presentRecord(issuer.dns, proof, signal)
      : await deps.challenges.open(proof);
  try {
    await proof.submit();
  } finally {
    await close();
  }
}
