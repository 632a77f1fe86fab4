/** A fault of the configuration: says what is wrong, where, and what to do. */
export interface ConfigPosition {
  readonly file: string;
  readonly line: number;
  /** `['site.conf:3 (import snippet)']` when the line came in by an import. */
  readonly importChain?: readonly string[];
}

export class ConfigError extends Error {
  readonly code = 'HOLDFAST_CONFIG';
  readonly position: ConfigPosition | null;

  /** `message` already names the place when `position` is given: `<what>, at <file>:<line>`. */
  constructor(message: string, position: ConfigPosition | null = null, options?: ErrorOptions) {
    super(message, options);
    this.name = 'ConfigError';
    this.position = position;
  }
}
