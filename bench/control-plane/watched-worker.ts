/** A data-plane thread that also watches its own event loop: a message on the channel asks for the longest gap so far. */
import { BroadcastChannel } from 'node:worker_threads';
import { readProcessFacts } from '../../src/data-plane/process-facts.ts';
import { Runtime } from '../../src/data-plane/runtime.ts';
import { runWorker } from '../../src/data-plane/worker-thread.ts';
import { GapWatch } from './gap.ts';

const watch = new GapWatch();
const channel = new BroadcastChannel('worker-gap');
channel.addEventListener('message', (event) => {
  if (event instanceof MessageEvent && event.data === 'take') channel.postMessage(watch.take());
});
const processFacts = readProcessFacts();

runWorker((deps) => new Runtime(deps, processFacts));
