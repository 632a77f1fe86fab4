import type { Logger } from '../../shared/log.ts';
import { joinHostPort } from '../../shared/net/address.ts';
import type { AdminSpec } from '../compile/compiled.ts';
import type { Route } from './exchange.ts';
import { AdminServer } from './server.ts';

/** Requests that still run on an endpoint that was replaced get this long. */
const CLOSE_GRACE_MS = 5000;

interface Running {
  readonly server: AdminServer;
  readonly spec: AdminSpec;
  readonly address: { readonly host: string; readonly port: number };
}

/** The admin endpoint over reloads: it moves only after the new address is bound. */
export class AdminEndpoint {
  readonly #routes: readonly Route[];
  readonly #log: Logger;
  #running: Running | null = null;
  /** Old servers that are still closing. */
  readonly #closing = new Set<Promise<void>>();

  constructor(routes: readonly Route[], log: Logger) {
    this.#routes = routes;
    this.#log = log;
  }

  /** The bound address, port 0 resolved; null when the admin API is off. */
  address(): { readonly host: string; readonly port: number } | null {
    return this.#running?.address ?? null;
  }

  /**
   * Brings the endpoint in line with a config; one call at a time. Rejects when the new address
   * cannot be bound; then the old endpoint goes on.
   */
  async apply(spec: AdminSpec): Promise<void> {
    const before = this.#running;
    if (before !== null && spec.enabled && isSameAddress(before.spec, spec)) {
      before.server.setRules(spec);
      this.#running = { ...before, spec };
      return;
    }
    this.#running = spec.enabled ? await this.#open(spec) : null;
    if (before !== null) this.#retire(before.server);
  }

  /** Closes the endpoint; requests that run get a few seconds. */
  async stop(): Promise<void> {
    const running = this.#running;
    this.#running = null;
    if (running !== null) this.#retire(running.server);
    await Promise.all(this.#closing);
  }

  async #open(spec: AdminSpec): Promise<Running> {
    const server = new AdminServer({ spec, routes: this.#routes, log: this.#log });
    const address = await server.listen();
    this.#log.info('admin endpoint started', { address: addressText(address) });
    return { server, spec, address };
  }

  #retire(server: AdminServer): void {
    const closing = server.close(CLOSE_GRACE_MS).finally(() => this.#closing.delete(closing));
    this.#closing.add(closing);
  }
}

function isSameAddress(one: AdminSpec, other: AdminSpec): boolean {
  return one.host === other.host && one.port === other.port && one.unix?.path === other.unix?.path;
}

function addressText({ host, port }: Running['address']): string {
  return host.startsWith('unix/') ? host : joinHostPort(host, port);
}
