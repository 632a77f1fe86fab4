import { Session } from 'node:inspector';

/**
 * Aborts the JavaScript that a hung worker is stuck in; its event loop goes on, and with it the
 * messages that wait there. `Worker.terminate()` would close the worker's sockets with FIN, which
 * makes cut responses look whole; a worker that gets to run its last act resets them.
 *
 * Attaching concerns every worker of the process, so only the one meant is spoken to, and the
 * session ends with its answer: staying attached while workers end has crashed the process. The
 * returned function ends it when no answer comes: code stuck in a native call is out of reach.
 */
export function abortScript(threadId: number): () => void {
  const session = new Session();
  let target = '';
  session.connect();
  session.on('NodeWorker.attachedToWorker', ({ params }) => {
    // `workerId` counts attachments; the thread's id stands in the title only.
    if (!params.workerInfo.title.startsWith(`[worker ${threadId}]`)) return;
    target = params.sessionId;
    const message = JSON.stringify({ id: 1, method: 'Runtime.terminateExecution' });
    session.post('NodeWorker.sendMessageToWorker', { sessionId: target, message });
  });
  session.on('NodeWorker.receivedMessageFromWorker', ({ params }) => {
    if (params.sessionId === target) session.disconnect();
  });
  session.post('NodeWorker.enable', { waitForDebuggerOnStart: false });
  return () => session.disconnect();
}
