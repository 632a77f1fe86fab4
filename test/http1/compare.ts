/** Whatever our codec accepts, Node's parser must accept and read the same way. The other direction is free. */
import { isTrailerName } from '../../src/data-plane/http1/trailers.ts';
import type { NodeReader } from './node-reader.ts';
import { readOurs } from './our-reader.ts';
import type { Case, Message, Reading } from './reading.ts';

/** Longer messages are not fed byte by byte. */
const SPLIT_MAX_BYTES = 400;

export interface Comparison {
  /** What is wrong, '' when nothing is. */
  readonly difference: string;
  readonly ours: Reading;
}

export function compare(testCase: Case, node: NodeReader): Comparison {
  const ours = readOurs(testCase, false);
  return { difference: compareSplit(testCase, ours) || compareWithNode(testCase, ours, node), ours };
}

function compareSplit(testCase: Case, whole: Reading): string {
  if (testCase.text.length > SPLIT_MAX_BYTES) return '';
  const split = readOurs(testCase, true);
  const [left, right] = [JSON.stringify(whole), JSON.stringify(split)];
  return left === right ? '' : `whole: ${left}\nbyte by byte: ${right}`;
}

/** What Node reads differently from `ours`, '' when nothing. */
export function compareWithNode(testCase: Case, ours: Reading, node: NodeReader): string {
  if (ours.messages.length === 0 && ours.end === 'refused') return '';
  const theirs = node.read({ ...testCase, text: adapt(testCase, ours, node) });
  for (const [index, message] of ours.messages.entries()) {
    const other = theirs.messages[index];
    if (other === undefined) return `message ${index}: Node has none; ours ${JSON.stringify(message)}`;
    const refused = ours.end === 'refused' && !message.complete;
    const what = compareHead(message, other, testCase, node) || (refused ? '' : compareBody(message, other));
    if (what !== '') return `message ${index}: ${what}\nours ${JSON.stringify(message)}\nnode ${JSON.stringify(other)}`;
  }
  const waiting = ours.end === 'waiting' && theirs.end !== 'refused';
  const extra = theirs.messages.length - ours.messages.length;
  return waiting && extra !== 0 ? `Node reads ${extra} more messages where ours waits` : '';
}

/**
 * Where the two differ on purpose, the bytes are changed before Node sees them. It knows a fixed set of methods, a
 * proxy passes any token; it obeys framing fields among the trailers (or refuses them), we drop them.
 */
function adapt(testCase: Case, ours: Reading, node: NodeReader): string {
  let { text } = testCase;
  for (const message of ours.messages.toReversed()) {
    const end = message.complete ? message.end : text.length;
    let part = text.slice(message.start, end);
    if (message.complete && has(message, 'transfer-encoding')) part = withoutFramingTrailers(part);
    const method = message.line[0];
    if (testCase.kind === 'request' && !node.methods.has(method)) part = `POST${part.slice(method.length)}`;
    text = text.slice(0, message.start) + part + text.slice(end);
  }
  return text;
}

const FRAMING_LINE = /^(?:content-length|transfer-encoding|(?:proxy-)?connection|upgrade):/i;

/** The text of a complete chunked message, its trailer section (the field lines at the end) without framing fields. */
function withoutFramingTrailers(text: string): string {
  // Nothing behind the head: a response that has no body whatever its fields say.
  if (text.indexOf('\r\n\r\n') + 4 === text.length) return text;
  const lines = text.slice(0, -2).split('\r\n');
  let first = lines.length - 1;
  while (/^[\w!#$%&'*+.^`|~-]+:/.test(lines[first - 1]!)) first -= 1;
  const kept = lines.filter((line, index) => index < first || !FRAMING_LINE.test(line));
  return `${kept.join('\r\n')}\r\n`;
}

function compareHead(ours: Message, theirs: Message, testCase: Case, node: NodeReader): string {
  const response = testCase.kind === 'response';
  const knownMethod = response || node.methods.has(ours.line[0]);
  const [first, second] = theirs.line;
  if (knownMethod && first !== ours.line[0]) return 'method or status';
  if (second !== ours.line[1]) return 'target or reason';
  if (theirs.version !== ours.version) return 'version';
  if (JSON.stringify(theirs.fields) !== JSON.stringify(ours.fields)) return 'fields';
  return comparePersistence(ours, theirs, testCase);
}

function has(message: Message, lowerName: string): boolean {
  return message.fields.some((text, index) => index % 2 === 0 && text.toLowerCase() === lowerName);
}

/** Ours may close or not upgrade where Node goes on, for the reasons named here; never the other way round. */
function comparePersistence(ours: Message, theirs: Message, testCase: Case): string {
  // Node's answer comes before it knows that the response to HEAD has no body.
  const untold = testCase.methods.includes('HEAD');
  if (ours.keepAlive && !theirs.keepAlive && !untold) return 'keep-alive';
  const cautious = ours.version === 10 || has(ours, 'proxy-connection') || /^(?:1..|204)$/.test(ours.line[0]);
  if (!ours.keepAlive && theirs.keepAlive && !cautious) return 'close';
  if (ours.upgrade && !theirs.upgrade) return 'upgrade';
  return theirs.upgrade && !ours.upgrade && ours.version === 11 && !has(ours, 'proxy-connection') ? 'no upgrade' : '';
}

function compareBody(ours: Message, theirs: Message): string {
  if (ours.complete && !theirs.complete) return 'end of message';
  if (!ours.complete) {
    if (theirs.complete) return 'Node ends the message earlier';
    return theirs.body.startsWith(ours.body) || ours.body.startsWith(theirs.body) ? '' : 'body so far';
  }
  if (theirs.body !== ours.body) return 'body';
  return forwarded(theirs.trailers) === ours.trailers ? '' : 'trailers';
}

function forwarded(trailers: string): string {
  return trailers
    .split(/(?<=\r\n)/)
    .filter((line) => isTrailerName(line.split(':')[0]!.toLowerCase()))
    .join('');
}
