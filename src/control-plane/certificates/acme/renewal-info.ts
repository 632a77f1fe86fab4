/** When an authority wants a certificate to be renewed (ARI, RFC 9773): one unsigned GET. */
import type { Random } from '../../../shared/random.ts';
import { askWeb, type WebAnswer } from '../web-question.ts';
import { retryAfterMs } from './errors.ts';

const TIMEOUT_MS = 15_000;
const MAX_BYTES = 65_536;
/** RFC 9773 section 4.3.2: how often to look where the authority does not say, and the limits of what it may say. */
const DEFAULT_LOOK_MS = 6 * 3_600_000;
const MIN_LOOK_MS = 60_000;
const MAX_LOOK_MS = 86_400_000;

export interface RenewalInfo {
  /** Wall-clock milliseconds, chosen at random within what the authority suggests; null = it says nothing. */
  readonly renewAt: number | null;
  readonly nextLookMs: number;
}

/**
 * `replaces` of a certificate, and the name of its renewal info: key identifier of its issuer and serial number. '' = it
 * names no issuer, or cannot be read by the library. Never rejects: a renewal must not depend on it.
 */
export async function certificateId(pem: string): Promise<string> {
  try {
    return await readId(pem);
  } catch {
    return '';
  }
}

async function readId(pem: string): Promise<string> {
  const lib = await import('@peculiar/x509');
  const certificate = new lib.X509Certificate(pem);
  const issuer = certificate.getExtension(lib.AuthorityKeyIdentifierExtension)?.keyId;
  if (issuer === undefined) return '';
  // DER of a positive number: a leading zero where the first bit is set.
  const serial = Buffer.from(certificate.serialNumber.replace(/^(?=.(?:..)*$)/, '0'), 'hex');
  const signed = serial[0]! >= 0x80 ? Buffer.concat([Buffer.from([0]), serial]) : serial;
  return `${Buffer.from(issuer, 'hex').toString('base64url')}.${signed.toString('base64url')}`;
}

/** Never rejects: an authority without renewal info, or out of reach, says nothing. */
export async function askRenewalInfo(
  directory: string,
  trustedRoots: readonly string[],
  id: string,
  { random, wallMs }: { readonly random: Random; readonly wallMs: number },
): Promise<RenewalInfo> {
  const nothing: RenewalInfo = { renewAt: null, nextLookMs: DEFAULT_LOOK_MS };
  if (id === '') return nothing;
  const ask = (url: string): Promise<WebAnswer> =>
    askWeb({ url, trustedRoots, timeoutMs: TIMEOUT_MS, maxBytes: MAX_BYTES });
  try {
    const base: unknown = Reflect.get(JSON.parse((await ask(directory)).body.toString()) as object, 'renewalInfo');
    if (typeof base !== 'string') return nothing;
    const answer = await ask(`${base.replace(/\/$/, '')}/${id}`);
    if (answer.status !== 200) return nothing;
    const wished = retryAfterMs(answer.headers['retry-after'], wallMs) || DEFAULT_LOOK_MS;
    return {
      renewAt: chooseTime(JSON.parse(answer.body.toString()), random),
      nextLookMs: Math.min(Math.max(wished, MIN_LOOK_MS), MAX_LOOK_MS),
    };
  } catch {
    return nothing;
  }
}

function chooseTime(info: unknown, random: Random): number | null {
  const { suggestedWindow } = info as {
    readonly suggestedWindow?: { readonly start?: unknown; readonly end?: unknown };
  };
  const [start, end] = [suggestedWindow?.start, suggestedWindow?.end].map((text) => Date.parse(String(text)));
  if (start === undefined || end === undefined || !(start <= end)) return null;
  return start + (end - start) * random.next();
}
