/** `metrics`: the exposition, which the control plane makes. */
import type { ErrorDecision, RespondDecision, WaitDecision } from './decision.ts';

/** Version 0.0.4 of the text format, as on the admin API. */
const CONTENT_TYPE = 'text/plain; version=0.0.4; charset=utf-8';
const TOO_LATE: ErrorDecision = Object.freeze({
  kind: 'error',
  status: 503,
  message: 'the metrics were not ready in time',
});

/** A wait of its own for every request: two of them are told apart by it. */
export function answerMetrics(): WaitDecision {
  return {
    kind: 'wait',
    errand: { kind: 'metrics' },
    finish({ outcome, text }): RespondDecision | ErrorDecision {
      if (outcome !== 'yes') return TOO_LATE;
      return { kind: 'respond', status: 200, fields: ['Content-Type', CONTENT_TYPE], body: text, close: false };
    },
  };
}
