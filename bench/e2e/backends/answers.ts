/**
 * What stands behind every proxy: three ports that answer alike.
 * `/` is the timed answer, `/health` answers 200, `/echo` tells as JSON what arrived.
 */

/** 45 bytes. */
export const BODY = 'The quick brown fox jumps over the lazy dog.\n';

/** What `/echo` tells. Fields that did not arrive are ''. */
export interface Echo {
  readonly port: string;
  readonly host: string;
  readonly for: string;
  readonly proto: string;
  readonly forwardedHost: string;
}
