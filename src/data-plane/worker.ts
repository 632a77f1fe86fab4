/** Entry of a data-plane thread. */
import { readProcessFacts } from './process-facts.ts';
import { Runtime } from './runtime.ts';
import { runWorker } from './worker-thread.ts';

const processFacts = readProcessFacts();

runWorker((deps) => new Runtime(deps, processFacts));
