/** PROXY headers in front of connections of HTTP servers. */

/**
 * What is done about the header of a peer. `use`: it counts if there is one. `require`: and there must be one.
 * `ignore`: it is read and dropped. `reject`: there must be none. `skip`: it is not looked for.
 */
export type ProxyHeaderPolicy = 'use' | 'require' | 'ignore' | 'reject' | 'skip';

export interface ProxyHeaderPlan {
  /** From accepting a connection to the end of its header. */
  readonly timeoutMs: number;
  /** Ranges of peers that may send no header (`reject`); they win over `allow`. */
  readonly deny: readonly string[];
  /** Ranges of peers whose header counts (`use`). */
  readonly allow: readonly string[];
  /** For all other peers. */
  readonly fallback: ProxyHeaderPolicy;
}
