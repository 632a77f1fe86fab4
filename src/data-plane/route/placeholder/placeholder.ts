/** What stands behind a name in braces. */
import type { RequestView } from '../request-view.ts';
import type { ShutdownFacts } from './shutdown.ts';

/** Bytes of the value, '' when the request has none; undefined when the name is unknown after all. */
export type Read = (request: RequestView) => string | undefined;

export interface Placeholder {
  readonly read: Read;
  /**
   * The same value as it stands in a request target, still escaped. A rewrite uses it, so that `/a%2Fb` stays what
   * it was. Absent: the value is no part of a target.
   */
  readonly readRaw?: Read;
  /** `readRaw` is a query, and may stand in a query unescaped. */
  readonly isQuery?: true;
  /** The bytes, when they are the same for every request of this process. */
  readonly constant?: string;
  /** The value depends on the upstream that was picked. */
  readonly isProxyValue?: true;
}

export type Environment = Readonly<Record<string, string | undefined>>;

/** What `{system.…}` shows. Read once by whoever starts the worker: this folder reads nothing itself. */
interface SystemFacts {
  readonly hostname: string;
  /** Caddy's words: `linux`, `darwin`, `windows`. */
  readonly os: string;
  readonly arch: string;
  readonly workingDirectory: string;
  /** Path separator of the system. */
  readonly slash: string;
}

export interface ProcessFacts {
  readonly env: Environment;
  readonly system: SystemFacts;
  /** Default: the end is not near. */
  readonly shutdown?: ShutdownFacts;
  /** Names (without braces) that `map` handlers of the config give values to. Default: none. */
  readonly mapped?: ReadonlySet<string>;
}

const NO_SYSTEM: SystemFacts = Object.freeze({
  hostname: '',
  os: '',
  arch: '',
  workingDirectory: '',
  slash: '/',
});

export const NO_FACTS: ProcessFacts = Object.freeze({ env: Object.freeze({}), system: NO_SYSTEM });
