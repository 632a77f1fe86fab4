/**
 * Objects that one key tells apart (Caddy's modules): `handler`, `policy`, `protocol`, `output` …
 */
import { z } from 'zod';
import { describe, listWords, NOT_YET } from './primitives.ts';

export interface ModuleKind<T> {
  /** The key that names the module. */
  readonly key: string;
  /** What a module is called in a message: `handler`. */
  readonly noun: string;
  /** A function, because handlers contain routes, which contain handlers. */
  readonly modules: () => Readonly<Record<string, z.ZodType<T>>>;
  /** Modules that Caddy has and this version has not. */
  readonly notYet: readonly string[];
  /** The name an object without the key stands for; absent = the key is required. */
  readonly fallback?: string;
}

/** Reads an object by the schema its key names. A name of Caddy's and an unknown one are told apart. */
export function moduleOf<T>(kind: ModuleKind<T>): z.ZodType<T> {
  return z.unknown().transform((value, context) => {
    const named = nameModule(kind, value);
    if ('refusal' in named) {
      context.addIssue({
        code: 'custom',
        message: named.refusal,
        path: named.path,
        params: { [NOT_YET]: named.notYet },
      });
      return z.NEVER;
    }
    const result = named.schema.safeParse(named.value);
    if (result.success) return result.data;
    for (const { message, path, ...rest } of result.error.issues) {
      context.addIssue({ code: 'custom', message, path, params: 'params' in rest ? rest.params : undefined });
    }
    return z.NEVER;
  });
}

type Named<T> =
  | { readonly schema: z.ZodType<T>; readonly value: unknown }
  | { readonly refusal: string; readonly path: string[]; readonly notYet: boolean };

function nameModule<T>(kind: ModuleKind<T>, value: unknown): Named<T> {
  if (value === null || typeof value !== 'object' || Array.isArray(value)) {
    return { refusal: `expected a ${kind.noun} (an object), found ${describe(value)}`, path: [], notYet: false };
  }
  const name: unknown = Reflect.get(value, kind.key) ?? kind.fallback;
  const modules = kind.modules();
  if (typeof name === 'string' && Object.hasOwn(modules, name)) {
    const schema = modules[name];
    if (schema !== undefined) return { schema, value: { ...value, [kind.key]: name } };
  }
  if (typeof name === 'string' && kind.notYet.includes(name)) {
    return { refusal: `'${name}' is not supported yet`, path: [kind.key], notYet: true };
  }
  const expected = listWords(Object.keys(modules));
  return { refusal: `expected a ${kind.noun}: ${expected}, found ${describe(name)}`, path: [kind.key], notYet: false };
}
