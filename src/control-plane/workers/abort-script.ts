import { Session } from 'node:inspector';

/**
 * Aborts the JavaScript that a hung worker is stuck in; its event loop goes on, and with it the
 * messages that wait there. `Worker.terminate()` would close the worker's sockets with FIN, which
 * makes cut responses look whole; a worker that gets to run its last act resets them.
 *
 * Attaching concerns every worker of the process, so only the one meant is spoken to, and the
 * session ends with its answer. Node 24.21 dies of two shortcuts, so neither is taken: the session
 * is never changed from inside one of its own events (it would be freed while it runs), and every
 * worker is detached by name before the session ends (the end of one would be told to a front end
 * that is gone). The returned function ends the session when no answer comes: code stuck in a
 * native call is out of reach.
 */
export function abortScript(threadId: number): () => void {
  const session = new Session();
  const attached = new Set<string>();
  let target = '';
  let isOver = false;
  const end = (): void => {
    if (isOver) return;
    isOver = true;
    for (const sessionId of [...attached]) session.post('NodeWorker.detach', { sessionId });
    session.post('NodeWorker.disable');
    session.disconnect();
  };
  session.connect();
  session.on('NodeWorker.attachedToWorker', ({ params: { sessionId, workerInfo } }) => {
    attached.add(sessionId);
    // `workerId` counts attachments; the thread's id stands in the title only.
    if (workerInfo.title.startsWith(`[worker ${threadId}]`)) target = sessionId;
  });
  session.on('NodeWorker.detachedFromWorker', ({ params }) => attached.delete(params.sessionId));
  session.on('NodeWorker.receivedMessageFromWorker', ({ params }) => {
    if (params.sessionId === target) setImmediate(end);
  });
  // Attaches to all workers before it returns.
  session.post('NodeWorker.enable', { waitForDebuggerOnStart: false });
  if (target !== '') {
    const message = JSON.stringify({ id: 1, method: 'Runtime.terminateExecution' });
    session.post('NodeWorker.sendMessageToWorker', { sessionId: target, message });
  }
  return () => setImmediate(end);
}
