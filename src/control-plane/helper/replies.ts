/** What the helper thread answers to each `next`. */
import { runConfigJob, type ConfigJob } from './config-job.ts';
import { batchParts, splitResult, type ConfigPart } from './config-parts.ts';
import { packError, unpackError, type Fault } from './fault.ts';

export type HelperReply =
  | { readonly type: 'parts'; readonly parts: readonly ConfigPart[] }
  | { readonly type: 'end' }
  | { readonly type: 'failed'; readonly fault: Fault };

export function* answerJob(job: ConfigJob): Generator<HelperReply, void> {
  try {
    for (const parts of batchParts(splitResult(runConfigJob(job)))) yield { type: 'parts', parts };
    yield { type: 'end' };
  } catch (error) {
    yield { type: 'failed', fault: packError(error) };
  }
}

/** The parts of a reply, null after the last. Throws what the job threw. */
export function readReply(reply: HelperReply): readonly ConfigPart[] | null {
  if (reply.type === 'failed') throw unpackError(reply.fault);
  return reply.type === 'end' ? null : reply.parts;
}
