/** Configs of layer-4 servers on UDP. */
import { globals } from './balance.ts';

/** One server with one route; `handlers` are the lines inside it, `options` those beside it. */
export function udpSite(handlers: string, options = '', address = 'udp/127.0.0.1:0'): string {
  return globals(udpServerBlock(handlers, options, address));
}

/** Several servers, each a block of its own. */
export function udpServerBlock(handlers: string, options = '', address = 'udp/127.0.0.1:0'): string {
  return `  layer4 {\n    ${address} {\n${options}\n      route {\n${handlers}\n      }\n    }\n  }\n`;
}

/** A `proxy` handler over servers on these ports of loopback. */
export function udpProxy(ports: readonly number[], options = ''): string {
  return `proxy ${ports.map((port) => `udp/127.0.0.1:${port}`).join(' ')} {\n${options}\n}\n`;
}
