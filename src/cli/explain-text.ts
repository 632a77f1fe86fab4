import type {
  ClientExplanation,
  Explanation,
  MemberExplanation,
  ProxyExplanation,
  RouteExplanation,
} from '../control-plane/explain/explanation.ts';

/** Members shown of a large pool that are all well. */
const MAX_MEMBERS = 20;
const INDENT = ' '.repeat(10);

/** An explanation for people. What came from a peer or a config is shown without control characters. */
export function explainText(explanation: Explanation): string {
  const { request, server, client, routes, assumed, outcome } = explanation;
  const lines = [
    `${request.method} ${request.host}${request.target}`,
    '',
    ...block('server', [`${server.name}, listens on ${server.listener}`, server.note]),
    ...block('client', clientLines(client)),
    ...block('route', routes.length === 0 ? ['no site takes the request'] : routes.map(routeLine)),
    ...(assumed.length === 0 ? [] : block('assumed', assumed)),
  ];
  switch (outcome.kind) {
    case 'proxy':
      lines.push(...proxyLines(outcome.proxy, 'the client gets a 503'));
      break;
    case 'respond':
      lines.push(...block('answer', [`${outcome.status}, by Holdfast itself`, ...outcome.fields, outcome.body]));
      break;
    case 'error':
      lines.push(
        ...block('answer', [`error ${outcome.status}, by the error routes if there are any`, outcome.message]),
      );
      break;
    case 'metrics':
      lines.push(...block('answer', ['200, the metrics of the process']));
      break;
    case 'abort':
      lines.push(...block('answer', ['none: the connection is dropped']));
      break;
    case 'empty':
      lines.push(...block('answer', ['200 without a body: no handler answers']));
  }
  return `${lines.map(printable).join('\n')}\n`;
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
    ...block('upstreams', memberLines(proxy)),
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

/** Of a large pool only those that are not eligible. */
function memberLines({ members, size }: ProxyExplanation): string[] {
  const unwell = members.filter(({ state }) => state !== 'eligible');
  const shown = (size > MAX_MEMBERS ? unwell : members).slice(0, MAX_MEMBERS);
  const width = Math.max(0, ...shown.map(({ upstream }) => upstream.length));
  const lines = shown.map(
    ({ position, upstream, state, why }) =>
      `${position}  ${upstream.padEnd(width)}  ${state}${why === '' ? '' : `: ${why}`}`,
  );
  const left = size - shown.length;
  return left === 0 ? lines : [...lines, `… and ${left} more`];
}

export function printable(text: string): string {
  return text.replace(/[\p{Cc}]/gu, (char) => JSON.stringify(char).slice(1, -1));
}

/** A route inside a site without conditions of its own says nothing. */
function routeLine({ place, matched }: RouteExplanation): string {
  if (place === '') return matched === 'always' ? '' : `  ${matched}`;
  return `${place} ${matched}`;
}
