import type { Origins } from '../../context.ts';
import type { JsonObject } from '../../json.ts';

/** What the lines of a `tls` directive add up to. */
export interface TlsDraft {
  readonly policy: JsonObject;
  /** Entries of `load_files`. */
  readonly files: JsonObject[];
  /** Entries of `load_folders`. */
  readonly folders: string[];
  readonly issuers: JsonObject[];
  /** Of the ACME issuer that nobody wrote: `ca`, `email`, … */
  readonly acme: JsonObject;
  /** Fields of the automation policy besides its issuers. */
  readonly automation: JsonObject;
  readonly origins: Origins;
}

export function newTlsDraft(origins: Origins): TlsDraft {
  return { policy: {}, files: [], folders: [], issuers: [], acme: {}, automation: {}, origins };
}
