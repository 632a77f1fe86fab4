/** `basic_auth` (RFC 7617): who may pass. */
import { ConfigError } from '../../shared/config-error.ts';
import { hashEffort, hashFault } from '../../shared/passwords/hash-text.ts';
import type { AuthenticationPlan } from '../../shared/plan/types.ts';
import { fromBytes, toBytes } from './bytes.ts';
import type { ErrorDecision, RouteState, WaitDecision } from './decision.ts';
import { notesOf } from './notes.ts';
import type { RequestView } from './request-view.ts';

type Authenticate = (request: RequestView, state: RouteState) => WaitDecision | ErrorDecision;

interface Credentials {
  /** Bytes. */
  readonly username: string;
  readonly password: string;
}

const NOT_AUTHENTICATED: ErrorDecision = Object.freeze({ kind: 'error', status: 401, message: 'not authenticated' });
const TOO_BUSY: ErrorDecision = Object.freeze({
  kind: 'error',
  status: 503,
  message: 'the password could not be checked in time',
});

/**
 * The password is checked outside of the router. A name that does not exist is checked as well, against the costliest hash
 * of all, so that the time tells nobody which names exist. Throws `ConfigError`.
 */
export function compileAuthentication({ realm, accounts, cache }: AuthenticationPlan): Authenticate {
  const hashes = compileAccounts(accounts);
  const standIn = [...hashes.values()].toSorted((a, b) => hashEffort(b) - hashEffort(a))[0]!;
  const challenge = `Basic realm="${toBytes(realm).replace(/["\\]/g, '\\$&')}"`;
  const refuse = ({ responseFields }: RouteState): ErrorDecision => {
    responseFields.push('WWW-Authenticate', challenge);
    return NOT_AUTHENTICATED;
  };
  return (request, state) => {
    const credentials = readCredentials(request.head.find('authorization') ?? '');
    if (credentials === null) return refuse(state);
    const { username, password } = credentials;
    const hash = hashes.get(username);
    return {
      kind: 'wait',
      errand: { kind: 'password', username, password, hash: hash ?? standIn, cache },
      finish({ outcome }, again, left) {
        if (outcome === 'unavailable') return TOO_BUSY;
        if (outcome === 'no' || hash === undefined) return refuse(left);
        notesOf(again).user = fromBytes(username);
        return null;
      },
    };
  };
}

function compileAccounts(accounts: AuthenticationPlan['accounts']): Map<string, string> {
  if (accounts.length === 0) throw new ConfigError('basic_auth without accounts lets nobody in: add one');
  const hashes = new Map<string, string>();
  for (const { username, hash } of accounts) {
    const name = toBytes(username);
    if (username === '' || username.includes(':')) throw new ConfigError(`'${username}' is no name of an account`);
    if (hashes.has(name)) throw new ConfigError(`account '${username}' is listed twice`);
    const fault = hashFault(hash);
    if (fault !== '') throw new ConfigError(`password hash of account '${username}': ${fault}`);
    hashes.set(name, hash);
  }
  return hashes;
}

/** null = not the form of RFC 7617. */
function readCredentials(field: string): Credentials | null {
  const match = /^basic ([A-Za-z0-9+/]+={0,2})$/i.exec(field);
  const encoded = match?.[1] ?? '';
  if (encoded === '' || encoded.length % 4 !== 0) return null;
  const text = Buffer.from(encoded, 'base64').toString('latin1');
  const colon = text.indexOf(':');
  return colon < 0 ? null : { username: text.slice(0, colon), password: text.slice(colon + 1) };
}
