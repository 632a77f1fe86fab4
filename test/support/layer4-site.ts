/** Configs of one layer-4 server on an ephemeral loopback port. */

/** `body` stands inside the server. */
export function layer4(body: string, globalOptions = 'admin off'): string {
  return `{\n  ${globalOptions}\n  auto_https off\n  layer4 {\n    127.0.0.1:0 {\n${body}\n    }\n  }\n}\n`;
}

/** One route that proxies to these ports of loopback. */
export function proxyRoute(ports: readonly number[], options = '', before = ''): string {
  const upstreams = ports.map((port) => `127.0.0.1:${port}`).join(' ');
  return `      route {\n${before}\n        proxy ${upstreams} {\n${options}\n        }\n      }`;
}
