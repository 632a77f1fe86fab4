/** One layer-4 server of a generation, compiled. */
import type { Layer4Options, Layer4Section, Layer4ServerPlan } from '../../shared/plan/layer4.ts';
import type { SectionHash, ServerIndex } from '../../shared/plan/types.ts';
import type { Pool } from '../pool/pool.ts';
import { compileRoutes, type FlowRoute } from './routes.ts';

export class Layer4Server {
  readonly name: string;
  readonly row: ServerIndex;
  readonly network: 'tcp' | 'udp';
  readonly options: Layer4Options;
  readonly routes: readonly FlowRoute<Pool>[];

  /** Throws when its routes cannot be compiled. */
  constructor(plan: Layer4ServerPlan, section: Layer4Section, poolOf: (hash: SectionHash) => Pool) {
    this.name = plan.name;
    this.row = plan.row;
    this.network = plan.network;
    this.options = plan.options;
    this.routes = compileRoutes(section.routes, poolOf);
  }
}
