/** What one run of the compiler carries around: where things were written, and what it has made so far. */
import type { ConfigPosition } from '../../shared/config-error.ts';
import type { PoolSection, Section, SectionHash } from '../../shared/plan/types.ts';
import { configErrorAt, findPosition } from '../config/positions.ts';
import type { RouteConfig } from '../config/schema/routes.ts';
import type { ConfigWarning, PoolSpec } from './compiled.ts';

export interface CompileContext {
  /** JSON path → where it was written; empty for a config that came as JSON. */
  readonly positions: ReadonlyMap<string, ConfigPosition>;
  /** Folder where generated secrets are kept, named in the warning about them. */
  readonly dataDir?: string;
  /** The secret kept under this key, made at the first call. */
  readonly generatedSecret: (poolKey: string) => string;
  readonly platform: NodeJS.Platform;
  /** Whether a program can be run by its name; absent = every one can. */
  readonly hasProgram?: (name: string) => boolean;
}

/** What routes of one server refer to outside of themselves. */
export interface ServerRouting {
  readonly namedRoutes: Readonly<Record<string, RouteConfig>>;
  readonly namedRoutesPath: string;
  /** Names that `map` handlers give values to. */
  readonly mapped: ReadonlySet<string>;
  /** Named routes on the way to where the compiler is, outermost first. */
  readonly invoking: string[];
  /** Copies of named routes made so far. */
  copies: number;
  /** The compiler is inside of a `handle_response`. */
  inResponse: boolean;
}

export class Compilation {
  readonly context: CompileContext;
  /** Global `resolvers`. */
  readonly resolvers: readonly string[];
  readonly warnings: ConfigWarning[] = [];
  readonly sections: Map<SectionHash, Section> = new Map();
  readonly pools: Map<SectionHash, PoolSpec> = new Map();
  /** Files whose content is part of the plan, and that nobody else watches. */
  readonly watchedFiles: Set<string> = new Set();
  /** Of the server that is being compiled. */
  routing: ServerRouting = {
    namedRoutes: {},
    namedRoutesPath: '',
    mapped: new Set<string>(),
    invoking: [],
    copies: 0,
    inResponse: false,
  };

  readonly #said: Set<string> = new Set();

  constructor(context: CompileContext, resolvers: readonly string[]) {
    this.context = context;
    this.resolvers = resolvers;
  }

  /** Throws; `path` is the JSON path of what is wrong. */
  fail(path: string, message: string): never {
    throw configErrorAt(this.context.positions, path, message);
  }

  notYet(path: string, word: string): never {
    return this.fail(path, `'${word}' is not supported yet`);
  }

  /** Without a position the message itself names the JSON path. A repeated warning is kept once. */
  warn(path: string, directive: string, message: string): void {
    const position = findPosition(this.context.positions, path);
    const warning: ConfigWarning =
      position === null
        ? { file: '', line: 0, directive, message: `${message}, at ${path}` }
        : { file: position.file, line: position.line, directive, message };
    const key = JSON.stringify(warning);
    if (!this.#said.has(key)) this.warnings.push(warning);
    this.#said.add(key);
  }

  /** Two handlers with the same content share one pool: one rotation, one set of rows. */
  addPool(spec: PoolSpec): PoolSection {
    const known = this.pools.get(spec.hash);
    if (known !== undefined) return known.section;
    this.pools.set(spec.hash, spec);
    this.sections.set(spec.hash, spec.section);
    return spec.section;
  }
}
