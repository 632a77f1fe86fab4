import type { Adaptation, SiteLog } from '../context.ts';
import type { JsonObject } from '../json.ts';
import type { Statement } from '../syntax/statement.ts';
import type { Token } from '../syntax/token.ts';

/** All that the global options say. */
export interface GlobalOptions {
  admin: JsonObject | null;
  readonly autoHttps: Set<AutoHttps>;
  debug: boolean;
  defaultBind: readonly Token[];
  httpPort: number | null;
  httpsPort: number | null;
  /** '' = none. */
  defaultSni: string;
  fallbackSni: string;
  localCerts: boolean;
  /** Entries of `certificate_authorities`, by name. */
  readonly authorities: Map<string, JsonObject>;
  /** What every ACME issuer says that does not say otherwise. */
  readonly acme: JsonObject;
  /** Issuers of names without their own, in turn; empty = the default. */
  readonly issuers: JsonObject[];
  /** Fields of every automation policy. */
  readonly policy: JsonObject;
  /** Fields of `apps.tls.automation` besides its policies. */
  readonly automation: JsonObject;
  storage: JsonObject | null;
  /** Servers of `apps.layer4`, in order. */
  readonly layer4: JsonObject[];
  /** Fields of `apps.http` itself. */
  readonly http: JsonObject;
  metrics: JsonObject | null;
  persistConfig: boolean;
  readonly logs: SiteLog[];
  readonly servers: ServerOptions[];
}

export type AutoHttps = 'off' | 'disable_redirects' | 'disable_certs' | 'ignore_loaded_certs';

/** One `servers` block. */
export interface ServerOptions {
  /** Listen address it is for, null = all without a block of their own. */
  readonly address: Token | null;
  name: string;
  /** Fields of the server object. */
  readonly fields: JsonObject;
  logCredentials: boolean;
  metrics: JsonObject | null;
}

export interface GlobalOption {
  readonly name: string;
  parse(statement: Statement, options: GlobalOptions, adaptation: Adaptation): void;
}

export function newGlobalOptions(): GlobalOptions {
  return {
    admin: null,
    autoHttps: new Set(),
    debug: false,
    defaultBind: [],
    httpPort: null,
    httpsPort: null,
    defaultSni: '',
    fallbackSni: '',
    localCerts: false,
    authorities: new Map(),
    acme: {},
    issuers: [],
    policy: {},
    automation: {},
    storage: null,
    layer4: [],
    http: {},
    metrics: null,
    persistConfig: true,
    logs: [],
    servers: [],
  };
}
