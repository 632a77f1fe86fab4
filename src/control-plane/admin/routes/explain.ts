import { z } from 'zod';
import { readProcessFacts } from '../../../data-plane/process-facts.ts';
import type { SectionHash } from '../../../shared/plan/types.ts';
import type { CompiledConfig } from '../../compile/compiled.ts';
import { derivePool } from '../../compile/pattern.ts';
import { explain, type ExplainContext } from '../../explain/explain.ts';
import { explainFlow } from '../../explain/explain-flow.ts';
import { withReasons } from '../../explain/explain-proxy.ts';
import type { Explanation, FlowExplanation } from '../../explain/explanation.ts';
import { isFlowAddress, type FlowQuestion } from '../../explain/flow-question.ts';
import { QuestionError, type Question } from '../../explain/question.ts';
import { idlePool, TrialPool } from '../../explain/trial-pool.ts';
import type { ControlPlane } from '../../types.ts';
import { parseJson, requireJson } from '../body.ts';
import type { AdminContext } from '../context.ts';
import { AdminError, jsonReply, type Route } from '../exchange.ts';

const FLOW_BODY = z.strictObject({
  url: z.string(),
  peer: z.string(),
  sni: z.string().optional(),
  alpn: z.array(z.string()).optional(),
  first_bytes: z.string().optional(),
});

const BODY = z.strictObject({
  url: z.string(),
  peer: z.string(),
  method: z.string().optional(),
  headers: z.record(z.string(), z.union([z.string(), z.array(z.string())])).optional(),
});

/** `POST /explain`: where a request, connection or session would go now and why. Nothing is sent, no turn of a rotation is taken. */
export function explainRoute({ plane, env }: AdminContext): Route {
  return {
    path: '/explain',
    methods: {
      POST: async (request) => {
        requireJson(request.header('content-type'));
        const asked = parseJson(await request.body());
        return jsonReply(await withLiveReasons(plane, answer(plane, env, asked)));
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

function readFlowQuestion(json: unknown): FlowQuestion {
  const parsed = FLOW_BODY.safeParse(json);
  if (!parsed.success) throw new AdminError(400, `invalid question: ${z.prettifyError(parsed.error)}`);
  const { url: address, peer, sni, alpn, first_bytes: firstBytes } = parsed.data;
  return {
    address,
    peer,
    ...(sni === undefined ? {} : { sni }),
    ...(alpn === undefined ? {} : { alpn }),
    ...(firstBytes === undefined ? {} : { firstBytes }),
  };
}

/** Layer 4 is asked about by the address of a listener, HTTP by a URL. */
function isFlow(json: unknown): boolean {
  return (
    typeof json === 'object' &&
    json !== null &&
    'url' in json &&
    typeof json.url === 'string' &&
    isFlowAddress(json.url)
  );
}

function answer(plane: ControlPlane, env: NodeJS.ProcessEnv, asked: unknown): Explanation | FlowExplanation {
  const compiled = plane.compiled();
  if (compiled === null) throw new AdminError(400, 'no config has been loaded');
  try {
    const context: ExplainContext = {
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
      derived: (pattern, addresses) => derivedPool(plane, compiled, pattern, addresses),
      place: (path) => path,
    };
    return isFlow(asked) ? explainFlow(readFlowQuestion(asked), context) : explain(readQuestion(asked), context);
  } catch (error) {
    if (error instanceof QuestionError) throw new AdminError(400, error.message, { cause: error });
    throw error;
  }
}

/** As it is now; one that no request has asked for yet is shown with everybody well. */
function derivedPool(
  plane: ControlPlane,
  compiled: CompiledConfig,
  pattern: SectionHash,
  addresses: readonly string[],
): TrialPool | null {
  const spec = compiled.pools.find(({ hash }) => hash === pattern);
  const made = spec === undefined ? '' : derivePool(spec, addresses);
  if (typeof made === 'string') return null;
  const rows = plane.derivedRows(made.hash);
  return rows === null ? idlePool(made, () => false) : new TrialPool(made.section, rows, plane.table);
}

async function withLiveReasons<Explained extends Explanation | FlowExplanation>(
  plane: ControlPlane,
  explanation: Explained,
): Promise<Explained> {
  const { outcome } = explanation;
  if (outcome.kind !== 'proxy') return explanation;
  const reasons = new Map<number, string>();
  for await (const status of plane.eachUpstream()) {
    if (status.pool === outcome.proxy.pool) reasons.set(status.position, status.why);
  }
  return withReasons(explanation, (position) => reasons.get(position) ?? '');
}
