/** What a reader made of a stream of bytes, in terms both our codec and Node's parser can be put in. */

export interface Case {
  readonly kind: 'request' | 'response';
  /** For responses: the method of the request each one answers, in order; GET behind the last. */
  readonly methods: readonly string[];
  /** The bytes, latin1. */
  readonly text: string;
}

export interface Message {
  /** Where the message begins in the bytes (ours only; −1 from Node). */
  readonly start: number;
  /** Index behind its last byte once it is complete (ours only; −1 from Node). */
  end: number;
  /** Method and target, or status and reason. */
  readonly line: readonly [string, string];
  readonly version: number;
  /** Names and values in turn, as received. */
  readonly fields: readonly string[];
  readonly keepAlive: boolean;
  readonly upgrade: boolean;
  body: string;
  trailers: string;
  complete: boolean;
}

export interface Reading {
  readonly messages: Message[];
  /** waiting: for more bytes. stopped: after a message behind which nothing may follow. */
  end: 'waiting' | 'refused' | 'stopped';
}
