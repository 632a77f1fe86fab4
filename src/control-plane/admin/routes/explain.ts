import { z } from 'zod';
import { readProcessFacts } from '../../../data-plane/process-facts.ts';
import { explain } from '../../explain/explain.ts';
import { withReasons } from '../../explain/explain-proxy.ts';
import type { Explanation } from '../../explain/explanation.ts';
import { QuestionError, type Question } from '../../explain/question.ts';
import { TrialPool } from '../../explain/trial-pool.ts';
import type { ControlPlane } from '../../types.ts';
import { parseJson, requireJson } from '../body.ts';
import type { AdminContext } from '../context.ts';
import { AdminError, jsonReply, type Route } from '../exchange.ts';

const BODY = z.strictObject({
  url: z.string(),
  peer: z.string(),
  method: z.string().optional(),
  headers: z.record(z.string(), z.union([z.string(), z.array(z.string())])).optional(),
});

/** `POST /explain`: where a request would go now and why. Nothing is sent, no turn of a rotation is taken. */
export function explainRoute({ plane, env }: AdminContext): Route {
  return {
    path: '/explain',
    methods: {
      POST: async (request) => {
        requireJson(request.header('content-type'));
        const question = readQuestion(parseJson(await request.body()));
        return jsonReply(await withLiveReasons(plane, answer(plane, env, question)));
      },
    },
  };
}

function readQuestion(json: unknown): Question {
  const parsed = BODY.safeParse(json);
  if (!parsed.success) throw new AdminError(400, `invalid question: ${z.prettifyError(parsed.error)}`);
  const { url, peer, method = 'GET', headers = {} } = parsed.data;
  const lines = Object.entries(headers).flatMap(([name, values]) =>
    [values].flat().map((value) => [name, value] as const),
  );
  return { url, peer, method, headers: lines };
}

function answer(plane: ControlPlane, env: NodeJS.ProcessEnv, question: Question): Explanation {
  const compiled = plane.compiled();
  if (compiled === null) throw new AdminError(400, 'no config has been loaded');
  try {
    return explain(question, {
      compiled,
      bound: plane.addresses(),
      facts: readProcessFacts(env),
      wallMs: Date.now(),
      seed: Date.now(),
      poolOf: (hash) => {
        const section = compiled.sections.get(hash);
        if (section?.kind !== 'pool') throw new Error(`a site names a pool that is not there: ${hash}`);
        return new TrialPool(section, plane.poolRows(hash), plane.table);
      },
      place: (path) => path,
    });
  } catch (error) {
    if (error instanceof QuestionError) throw new AdminError(400, error.message, { cause: error });
    throw error;
  }
}

async function withLiveReasons(plane: ControlPlane, explanation: Explanation): Promise<Explanation> {
  const { outcome } = explanation;
  if (outcome.kind !== 'proxy') return explanation;
  const reasons = new Map<number, string>();
  for await (const status of plane.eachUpstream()) {
    if (status.pool === outcome.proxy.pool) reasons.set(status.position, status.why);
  }
  return withReasons(explanation, (position) => reasons.get(position) ?? '');
}
