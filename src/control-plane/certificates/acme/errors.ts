/** Why a certificate could not be had. */
export class IssueError extends Error {
  /** Milliseconds the authority wants to be left alone; 0 = it did not say. */
  readonly retryAfterMs: number;

  constructor(message: string, retryAfterMs = 0, cause?: unknown) {
    super(message, { cause });
    this.retryAfterMs = retryAfterMs;
  }
}

export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/** Of a `Retry-After` field (RFC 9110 section 10.2.3): seconds or a date. 0 = neither. */
export function retryAfterMs(field: unknown, wallMs: number): number {
  if (typeof field !== 'string') return 0;
  if (/^\d{1,9}$/.test(field)) return Number(field) * 1000;
  const date = Date.parse(field);
  return Number.isNaN(date) ? 0 : Math.max(0, date - wallMs);
}
