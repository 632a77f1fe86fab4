/** Fetches one URL and ends: in a thread of its own, so that reading megabytes does not stall who is measured. */
import { parentPort, workerData } from 'node:worker_threads';

const response = await fetch(String(workerData));
const body = await response.arrayBuffer();
parentPort?.postMessage({ status: response.status, bytes: body.byteLength });
