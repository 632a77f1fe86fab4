/** OCSP responses for certificates whose authority offers them: asked for early, stapled while they are good. */
import { createHash, X509Certificate } from 'node:crypto';
import type { Clock } from '../../../shared/clock.ts';
import type { Logger } from '../../../shared/log.ts';
import type { CertificatePlan } from '../../../shared/plan/tls.ts';
import { parseChain, type Credential } from '../pem.ts';
import { askWeb } from '../web-question.ts';
import { certId, ocspRequest } from './request.ts';
import { checkResponse } from './response.ts';

const TIMEOUT_MS = 10_000;
const MAX_BYTES = 65_536;
/** Asked anew at this share of its life, so that a responder may be away for the other half. */
const REFRESH_SHARE = 0.5;
const RETRY_MS = 300_000;
const MIN_REFRESH_MS = 60_000;
/** At the same time; a look goes on when they are done. */
const MAX_ASKED = 10;
const OCSP_URL = /^OCSP - URI:(http\S+)$/m;
/** OID of the TLS feature extension (RFC 7633), DER. */
const TLS_FEATURE = Buffer.from('06082b06010505070118', 'hex');

interface Staple {
  /** base64; null = there is none now. */
  response: string | null;
  /** Wall-clock milliseconds. */
  goodUntil: number;
  askAt: number;
}

export class Stapler {
  readonly #clock: Clock;
  readonly #log: Logger;
  readonly #staples = new Map<string, Staple>();

  constructor({ clock, log }: { readonly clock: Clock; readonly log: Logger }) {
    this.#clock = clock;
    this.#log = log;
  }

  /** The certificate as workers get it: one with another response is another one. */
  staple(plan: CertificatePlan): CertificatePlan {
    const staple = this.#staples.get(plan.id);
    if (staple === undefined || staple.response === null || this.#clock.wall() >= staple.goodUntil) return plan;
    const id = createHash('sha256').update(`${plan.id} ${staple.response}`).digest('hex').slice(0, 32);
    return { ...plan, id, ocsp: staple.response };
  }

  /** Asks for what is due. Never rejects. */
  async refresh(credentials: readonly Credential[]): Promise<void> {
    const wanted = new Set(credentials.map(({ plan }) => plan.id));
    for (const id of [...this.#staples.keys()]) if (!wanted.has(id)) this.#staples.delete(id);
    const now = this.#clock.wall();
    const due = credentials.filter(({ plan }) => now >= (this.#staples.get(plan.id)?.askAt ?? 0));
    await Promise.all(due.slice(0, MAX_ASKED).map(({ plan }) => this.#fetch(plan)));
  }

  /** Clients refuse a certificate with must-staple that comes without a response. Never rejects. */
  async fetchIfRequired({ plan }: Credential): Promise<void> {
    const [leaf] = parseChain(plan.chain);
    if (new X509Certificate(leaf!).raw.includes(TLS_FEATURE)) await this.#fetch(plan);
  }

  async #fetch(plan: CertificatePlan): Promise<void> {
    const [leaf, issuer] = parseChain(plan.chain);
    const url = OCSP_URL.exec(new X509Certificate(leaf!).infoAccess ?? '')?.[1];
    const wall = this.#clock.wall();
    const old = this.#staples.get(plan.id);
    if (url === undefined || issuer === undefined) {
      this.#staples.set(plan.id, { response: null, goodUntil: 0, askAt: Infinity });
      return;
    }
    try {
      const id = await certId({ leaf: leaf!, issuer });
      const headers = { 'Content-Type': 'application/ocsp-request', Accept: 'application/ocsp-response' };
      const { status, body } = await askWeb({
        url,
        body: ocspRequest(id),
        headers,
        timeoutMs: TIMEOUT_MS,
        maxBytes: MAX_BYTES,
      });
      if (status !== 200) throw new Error(`the responder answered ${status}`);
      const { nextUpdate } = checkResponse(body, id, issuer, wall);
      const askAt = wall + Math.max((nextUpdate - wall) * REFRESH_SHARE, MIN_REFRESH_MS);
      this.#staples.set(plan.id, { response: body.toString('base64'), goodUntil: nextUpdate, askAt });
    } catch (error) {
      this.#staples.set(plan.id, {
        response: old?.response ?? null,
        goodUntil: old?.goodUntil ?? 0,
        askAt: wall + RETRY_MS,
      });
      this.#log.warn(`no OCSP response for ${plan.names.join(' ')} from ${url}`, {
        error: error instanceof Error ? error.message : String(error),
      });
    }
  }
}
