import type {
  ClientExplanation,
  ErrorExplanation,
  Explanation,
  MemberExplanation,
  Outcome,
  ProxyExplanation,
  RouteExplanation,
  WalkExplanation,
} from '../control-plane/explain/explanation.ts';

/** Members shown of a large pool that are all well. */
const MAX_MEMBERS = 20;
const INDENT = ' '.repeat(10);

/** An explanation for people. What came from a peer or a config is shown without control characters. */
export function explainText(explanation: Explanation): string {
  const { request, server, client, onError } = explanation;
  const lines = [
    `${request.method} ${request.host}${request.target}`,
    '',
    ...block('server', [`${server.name}, listens on ${server.listener}`, server.note]),
    ...block('client', clientLines(client)),
    ...walkLines('route', explanation, 'no site takes the request'),
    ...(onError === null ? [] : errorLines(onError)),
  ];
  return `${lines.map(printable).join('\n')}\n`;
}

function errorLines(error: ErrorExplanation): string[] {
  return ['', `on error ${error.status}`, '', ...walkLines('route', error, 'no error route takes it')];
}

function walkLines(title: string, walk: Omit<WalkExplanation, 'onError'>, none: string): string[] {
  const { routes, assumed, effects, outcome } = walk;
  return [
    ...block(title, routes.length === 0 ? [none] : routes.map(routeLine)),
    ...(assumed.length === 0 ? [] : block('assumed', assumed)),
    ...outcomeLines(outcome),
    ...(effects.length === 0 ? [] : block('bodies', effects)),
  ];
}

function outcomeLines(outcome: Outcome): string[] {
  switch (outcome.kind) {
    case 'proxy':
      return proxyLines(outcome.proxy, 'the client gets a 503');
    case 'respond':
      return block('answer', [`${outcome.status}, by Holdfast itself`, ...outcome.fields, outcome.body]);
    case 'error':
      return block('answer', [`error ${outcome.status}`, outcome.message]);
    case 'metrics':
      return block('answer', ['200, the metrics of the process']);
    case 'abort':
      return block('answer', ['none: the connection is dropped']);
    case 'empty':
      return block('answer', ['200 without a body: no handler answers']);
  }
}

export function block(title: string, lines: readonly string[]): string[] {
  const [first = '', ...rest] = lines.filter((line) => line !== '');
  return [title.padEnd(INDENT.length) + first, ...rest.map((line) => INDENT + line)];
}

function clientLines({ address, header, hops, why }: ClientExplanation): string[] {
  const width = Math.max(0, ...hops.map(({ text }) => text.length));
  const walk = hops.map(({ text, verdict }) => `  ${text.padEnd(width)}  ${verdict}`);
  return [address, ...(walk.length === 0 ? [] : [`${header}, from the right:`, ...walk]), why];
}

/** `refusal`: what becomes of it when nobody may be picked. */
export function proxyLines(proxy: ProxyExplanation, refusal: string): string[] {
  const { picked } = proxy;
  return [
    ...block('pool', [`${proxy.policy} over ${proxy.size} upstreams (${proxy.pool})`, ...proxy.steps]),
    ...memberBlocks(proxy),
    ...block('picked', picked === null ? [`none: ${refusal}`] : [pickedText(picked, proxy)]),
    ...(proxy.next.length === 0
      ? []
      : block('then', [`${proxy.next.join(', ')} (when the one before cannot be reached)`])),
    ...(proxy.sent.length === 0 ? [] : block('sends', proxy.sent)),
    ...(proxy.cookie === '' ? [] : block('sets', [proxy.cookie])),
  ];
}

function pickedText({ position, upstream }: MemberExplanation, { endpoint, affinity }: ProxyExplanation): string {
  const address = endpoint === '' || endpoint === upstream ? '' : ` at ${endpoint}`;
  return `${position}  ${upstream}${address}${affinity === '' ? '' : `, affinity: ${affinity}`}`;
}

/** Those of the config and those found in DNS apart; of a large pool only those that are not eligible. */
function memberBlocks({ members, size }: ProxyExplanation): string[] {
  const unwell = members.filter(({ state }) => state !== 'eligible');
  const shown = (size > MAX_MEMBERS ? unwell : members).slice(0, MAX_MEMBERS);
  const width = Math.max(0, ...shown.map(({ upstream }) => upstream.length));
  const [configured, found] = [shown.filter((member) => member.found !== true), shown.filter(isFound)];
  const left = size - shown.length;
  const rest = left === 0 ? [] : [`… and ${left} more`];
  const own = [...configured.map((member) => memberLine(member, width)), ...(found.length === 0 ? rest : [])];
  return [
    ...(found.length > 0 && own.length === 0 ? [] : block('upstreams', own)),
    ...(found.length === 0 ? [] : block('in DNS', [...found.map((member) => memberLine(member, width)), ...rest])),
  ];
}

function isFound({ found }: MemberExplanation): boolean {
  return found === true;
}

function memberLine({ position, upstream, state, why }: MemberExplanation, width: number): string {
  return `${position}  ${upstream.padEnd(width)}  ${state}${why === '' ? '' : `: ${why}`}`;
}

export function printable(text: string): string {
  return text.replace(/[\p{Cc}]/gu, (char) => JSON.stringify(char).slice(1, -1));
}

/** A route inside a site without conditions of its own says nothing. */
function routeLine({ place, matched }: RouteExplanation): string {
  if (place === '') return matched === 'always' ? '' : `  ${matched}`;
  return `${place} ${matched}`;
}
