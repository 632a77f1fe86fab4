const EVENT_STREAM = /^content-type:[ \t]*text\/event-stream(?=[ \t;\r])/im;

/**
 * Whether these response lines announce server-sent events.
 *
 * A FIN of the client may be a half-close: it says that no more requests come, and the answer is still
 * owed. EventSource never half-closes, and its stream has no end: there a FIN says that the client left.
 * Taken for a half-close, a quiet stream would stay open upstream until its next event, for ever if none comes.
 */
export function isEventStream(lines: string): boolean {
  return EVENT_STREAM.test(lines);
}
