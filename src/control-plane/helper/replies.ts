/** What the helper thread answers to each `next`. */
import { ConfigError, type ConfigPosition } from '../../shared/config-error.ts';
import { runConfigJob, type ConfigJob } from './config-job.ts';
import { batchParts, splitResult, type ConfigPart } from './config-parts.ts';

export type HelperReply =
  | { readonly type: 'parts'; readonly parts: readonly ConfigPart[] }
  | { readonly type: 'end' }
  /** A `ConfigError`, which would lose its class on the way. */
  | {
      readonly type: 'refused';
      readonly message: string;
      readonly position: ConfigPosition | null;
      readonly cause: unknown;
    }
  /** Anything else that was thrown. */
  | { readonly type: 'failed'; readonly error: unknown };

export function* answerJob(job: ConfigJob): Generator<HelperReply, void> {
  try {
    for (const parts of batchParts(splitResult(runConfigJob(job)))) yield { type: 'parts', parts };
    yield { type: 'end' };
  } catch (error) {
    if (!(error instanceof ConfigError)) yield { type: 'failed', error };
    else yield { type: 'refused', message: error.message, position: error.position, cause: error.cause };
  }
}

/** The parts of a reply, null after the last. Throws what the job threw. */
export function readReply(reply: HelperReply): readonly ConfigPart[] | null {
  switch (reply.type) {
    case 'parts':
      return reply.parts;
    case 'end':
      return null;
    case 'refused':
      throw new ConfigError(reply.message, reply.position, reply.cause === undefined ? {} : { cause: reply.cause });
    case 'failed':
      throw reply.error;
  }
}
