/** What handlers and matchers put down about a request for placeholders that come later. Most requests have none. */
import type { RequestView } from './request-view.ts';

/** Why a request is answered by error routes. */
export interface RequestError {
  readonly status: number;
  /** Bytes. */
  readonly message: string;
}

/** The destinations of a `map` handler the request passed. */
export interface MappedNames {
  /** null = no destination of this handler, or one it has no value for. */
  read(name: string, request: RequestView): string | null;
}

export class RequestNotes {
  /** By `<name>.<group>` and by `<group>` alone; a later match replaces an earlier one. */
  readonly captures: Map<string, string> = new Map();
  error: RequestError | null = null;
  /** Name of who was let in by `basic_auth`; '' = nobody was asked. */
  user = '';
  readonly #maps: MappedNames[] = [];
  /** Destinations being read: one that leads back to itself is empty. */
  readonly #reading: Set<string> = new Set();

  addMap(map: MappedNames): void {
    this.#maps.push(map);
  }

  /** The value of the first handler that has one; undefined = the name means nothing for this request. */
  mapped(name: string, request: RequestView): string | undefined {
    if (this.#maps.length === 0) return undefined;
    if (this.#reading.has(name)) return '';
    this.#reading.add(name);
    try {
      for (const map of this.#maps) {
        const value = map.read(name, request);
        if (value !== null) return value;
      }
      return '';
    } finally {
      this.#reading.delete(name);
    }
  }
}

export function notesOf(request: RequestView): RequestNotes {
  return (request.notes ??= new RequestNotes());
}
