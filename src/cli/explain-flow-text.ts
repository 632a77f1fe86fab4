import type { FlowExplanation, FlowRouteExplanation } from '../control-plane/explain/explanation.ts';
import { block, printable, proxyLines } from './explain-text.ts';

const TAKES: Readonly<Record<FlowRouteExplanation['answer'], string>> = {
  yes: 'takes it',
  no: 'does not hold',
  open: 'cannot be said with the bytes there are',
};

/** An explanation of a connection or session for people. */
export function explainFlowText({ flow, server, client, routes, assumed, outcome }: FlowExplanation): string {
  const what = flow.network === 'tcp' ? 'connection' : 'session';
  const lines = [
    `${flow.network}/${flow.address}`,
    '',
    ...block('server', [`${server.name}, listens on ${server.listener}`]),
    ...block('client', [`${client.address}, port ${client.port}`]),
    ...block(
      'route',
      routes.map(({ place, matched, answer }) => `${place} ${matched}: ${TAKES[answer]}`.trimStart()),
    ),
    ...(assumed.length === 0 ? [] : block('assumed', assumed)),
  ];
  switch (outcome.kind) {
    case 'proxy':
      lines.push(
        ...proxyLines(outcome.proxy, flow.network === 'tcp' ? 'the connection is reset' : 'the datagram is dropped'),
      );
      break;
    case 'close':
      lines.push(...block('answer', [`none: the ${what} is closed`]));
      break;
    case 'echo':
      lines.push(...block('answer', ['its own bytes']));
      break;
    case 'none':
      lines.push(...block('answer', [`none: no route takes the ${what}`]));
  }
  return `${lines.map(printable).join('\n')}\n`;
}
