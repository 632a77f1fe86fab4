/** A config has more text than the caller wants to read in this thread. */
export class OversizeError extends Error {
  constructor() {
    super('the config is too large to be read here');
    this.name = 'OversizeError';
  }
}
