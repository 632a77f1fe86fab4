/** Caddyfile text for a test: one plain HTTP site on a free loopback port, with access lines. */

export interface SiteOptions {
  /** Lines of the global block besides those every test wants. */
  readonly globals?: string;
  /** Lines of `servers`. */
  readonly servers?: string;
  /** Default `off`. */
  readonly admin?: string;
  /** Default 127.0.0.1. */
  readonly bind?: string;
}

/** `:0` with `http://` is one free port for all workers; a reload keeps it. */
export function site(body: string, options: SiteOptions = {}): string {
  const servers = options.servers === undefined ? '' : `\tservers {\n\t\t${options.servers}\n\t}\n`;
  return (
    `{\n\tadmin ${options.admin ?? 'off'}\n\tauto_https off\n${options.globals ?? ''}\n${servers}}\n` +
    `http://:0 {\n\tbind ${options.bind ?? '127.0.0.1'}\n\tlog\n${body}\n}\n`
  );
}

/** A `reverse_proxy` to these ports of 127.0.0.1; `options` are the lines of its block. */
export function proxyTo(servers: readonly { readonly port: number }[], options = ''): string {
  const upstreams = servers.map(({ port }) => `127.0.0.1:${port}`).join(' ');
  return `\treverse_proxy ${upstreams} {\n${options}\n\t}`;
}
