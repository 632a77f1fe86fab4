import type { ConfigPosition } from '../../shared/config-error.ts';
import type { ConfigWarning } from '../compile/compiled.ts';
import type { JsonObject, JsonValue } from './json.ts';
import { positionOf } from './syntax/failure.ts';
import type { Statement } from './syntax/statement.ts';
import type { Place, Token } from './syntax/token.ts';

/** Where objects of the config, and single fields of them, were written. */
export class Origins {
  readonly #objects = new WeakMap<object, ConfigPosition>();
  readonly #fields = new WeakMap<object, Map<string, ConfigPosition>>();

  /** Notes where `object` was written; the first note stands. */
  mark<T extends object>(object: T, token: Token): T {
    if (!this.#objects.has(object)) this.#objects.set(object, positionOf(token));
    return object;
  }

  markField(object: object, key: string, token: Token): void {
    this.#setField(object, key, positionOf(token));
  }

  /** What is known of the fields of `from` is known of those of `to` as well. */
  adoptFields(from: object, to: object): void {
    for (const [key, position] of this.#fields.get(from) ?? []) this.#setField(to, key, position);
  }

  /** A shallow copy that was written where the original was. */
  copy(object: JsonObject): JsonObject {
    const copy = { ...object };
    const position = this.#objects.get(object);
    if (position !== undefined) this.#objects.set(copy, position);
    this.adoptFields(object, copy);
    return copy;
  }

  of(object: object): ConfigPosition | undefined {
    return this.#objects.get(object);
  }

  fieldsOf(object: object): ReadonlyMap<string, ConfigPosition> | undefined {
    return this.#fields.get(object);
  }

  #setField(object: object, key: string, position: ConfigPosition): void {
    const fields = this.#fields.get(object) ?? new Map<string, ConfigPosition>();
    fields.set(key, position);
    this.#fields.set(object, fields);
  }
}

/** Sets a field and notes where it was written. */
export function setField(object: JsonObject, key: string, value: JsonValue, token: Token, origins: Origins): void {
  object[key] = value;
  origins.markField(object, key, token);
}

/** Runs `change`; whatever fields of the targets it sets were written on `line`. */
export function trackFields(
  targets: readonly JsonObject[],
  line: Statement,
  origins: Origins,
  change: () => void,
): void {
  const before = targets.map((target) => new Map(Object.entries(target)));
  change();
  for (const [index, target] of targets.entries()) {
    for (const [key, value] of Object.entries(target)) {
      if (before[index]?.get(key) === value) continue;
      origins.markField(target, key, line.name);
      if (value !== null && typeof value === 'object') origins.mark(value, line.name);
    }
  }
}

/** What one adaptation carries through all its parts. */
export interface Adaptation {
  readonly origins: Origins;
  readonly warnings: ConfigWarning[];
  /** Directive names, first to run first. */
  order: readonly string[];
  /** Numbers of `groupN` and `logN` still free. Caddy's output depends on their order of use. */
  nextGroup: number;
  nextLog: number;
  nextCertificate: number;
}

/** What a directive yields. */
export type SiteValue =
  | { readonly kind: 'route'; readonly directive: string; readonly route: JsonObject }
  | { readonly kind: 'bind'; readonly addresses: readonly Token[] }
  | { readonly kind: 'log'; readonly log: SiteLog }
  | { readonly kind: 'errors'; readonly subroute: JsonObject }
  | {
      readonly kind: 'tls';
      readonly policy: JsonObject;
      /** Entries of `load_files` and `load_folders`. */
      readonly files: readonly JsonObject[];
      readonly folders: readonly string[];
      /** Empty = by the names. */
      readonly issuers: readonly JsonObject[];
      /** What an ACME issuer that nobody wrote says; null = nothing asks for one. */
      readonly acme: JsonObject | null;
      /** Fields of the automation policy besides its issuers. */
      readonly automation: JsonObject;
      readonly token: Token;
    };

export interface SiteLog {
  /** '' = the default logger. */
  readonly name: string;
  /** Null when nothing is configured beyond the name. */
  readonly config: JsonObject | null;
  /** Hosts it is for instead of the site's; empty = the site's. */
  readonly hostnames: readonly string[];
  readonly noHostname: boolean;
}

/** The place a directive stands in: a site, or a block such as `handle` inside it. */
export interface SiteContext {
  readonly adaptation: Adaptation;
  /** Named matchers in reach, by name with its `@`. */
  readonly matchers: ReadonlyMap<string, JsonObject>;
  /** Parses the lines of a block as directives. */
  readonly parseBlock: (statements: readonly Statement[], context: SiteContext) => readonly SiteValue[];
  /** Named routes that `invoke` was seen to use, with the place of the first use. */
  readonly invoked: Map<string, Token>;
}

export interface Directive {
  readonly name: string;
  parse(statement: Statement, context: SiteContext): readonly SiteValue[];
}

export function warn(adaptation: Adaptation, { file, line }: Place, directive: string, message: string): void {
  adaptation.warnings.push({ file, line, directive, message });
}
