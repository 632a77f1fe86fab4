/** How long a tunnel may last. */
export interface StreamPlan {
  /** `stream_timeout`; 0 = any time. */
  readonly timeoutMs: number;
  /** `stream_close_delay`: time left once no handler like this one is in force any more; null = any time. */
  readonly closeDelayMs: number | null;
}
