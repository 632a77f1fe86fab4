/** Entry of a data-plane thread. */
import { Runtime } from './runtime.ts';
import { runWorker } from './worker-thread.ts';

runWorker((deps) => new Runtime(deps));
