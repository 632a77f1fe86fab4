/**
 * A `ConfigResult` in parts: receiving the whole of a large one would stall the main thread, as making it would.
 */
import type { Layer4Section } from '../../shared/plan/layer4.ts';
import type { PoolSection, Section, SectionHash, SiteSection } from '../../shared/plan/types.ts';
import type { CompiledConfig, ConfigWarning, MemberSpec, PoolSpec } from '../compile/compiled.ts';
import { memberPlan } from '../compile/members.ts';
import { deepFreeze } from '../config/deep-freeze.ts';
import type { ConfigResult } from './config-job.ts';

/** Members of a pool in one part. */
const MEMBERS_PER_PART = 500;
/** Parts go together until their JSON has this many characters: about 2 ms of the receiver's time. */
const BATCH_CHARS = 65_536;

type Settings = Omit<CompiledConfig, 'sections' | 'pools'>;
type PoolHead = Omit<PoolSpec, 'section' | 'members'> & { readonly section: Omit<PoolSection, 'members'> };

export type ConfigPart =
  | {
      readonly kind: 'head';
      readonly text: string;
      readonly warnings: readonly ConfigWarning[];
      readonly settings: Settings | null;
    }
  | { readonly kind: 'section'; readonly section: SiteSection | Layer4Section }
  | { readonly kind: 'pool'; readonly pool: PoolHead }
  /** Of the pool that came last. */
  | { readonly kind: 'members'; readonly members: readonly MemberSpec[] };

export function* splitResult({ text, warnings, compiled }: ConfigResult): Generator<ConfigPart> {
  if (compiled === null) {
    yield { kind: 'head', text, warnings, settings: null };
    return;
  }
  const { sections, pools, ...settings } = compiled;
  yield { kind: 'head', text, warnings, settings };
  for (const pool of pools) yield* splitPool(pool);
  for (const section of sections.values()) if (section.kind !== 'pool') yield { kind: 'section', section };
}

function* splitPool({ members, section: { members: _plans, ...section }, ...spec }: PoolSpec): Generator<ConfigPart> {
  yield { kind: 'pool', pool: { ...spec, section } };
  for (let at = 0; at < members.length; at += MEMBERS_PER_PART) {
    yield { kind: 'members', members: members.slice(at, at + MEMBERS_PER_PART) };
  }
}

/** Parts in batches of about `BATCH_CHARS`; the JSON text of the head does not count: it is copied, not built. */
export function* batchParts(parts: Iterable<ConfigPart>): Generator<readonly ConfigPart[]> {
  let batch: ConfigPart[] = [];
  let chars = 0;
  for (const part of parts) {
    batch.push(part);
    chars += JSON.stringify(part.kind === 'head' ? part.settings : part).length;
    if (chars < BATCH_CHARS) continue;
    yield batch;
    batch = [];
    chars = 0;
  }
  if (batch.length > 0) yield batch;
}

/** Puts the parts together again. What it makes is frozen, like what the compiler makes. */
export class ConfigAssembly {
  #head: Extract<ConfigPart, { kind: 'head' }> | null = null;
  readonly #sections: Map<SectionHash, Section> = new Map();
  readonly #pools: PoolSpec[] = [];
  #open: {
    readonly head: PoolHead;
    readonly members: MemberSpec[];
    readonly plans: PoolSection['members'][number][];
  } | null = null;

  take(part: ConfigPart): void {
    switch (part.kind) {
      case 'head':
        this.#head = deepFreeze(part);
        return;
      case 'section':
        this.#sections.set(part.section.hash, deepFreeze(part.section));
        return;
      case 'pool':
        this.#closePool();
        this.#open = { head: part.pool, members: [], plans: [] };
        return;
      case 'members':
        return this.#addMembers(part.members);
    }
  }

  /** Call it once, after the last part. */
  result(): ConfigResult {
    this.#closePool();
    if (this.#head === null) throw new Error('the helper thread sent no head');
    const { text, warnings, settings } = this.#head;
    if (settings === null) return { text, warnings, compiled: null };
    const compiled = { ...settings, sections: Object.freeze(this.#sections), pools: Object.freeze(this.#pools) };
    return { text, warnings, compiled: Object.freeze(compiled) };
  }

  #addMembers(members: readonly MemberSpec[]): void {
    if (this.#open === null) throw new Error('the helper thread sent members of no pool');
    for (const member of deepFreeze(members)) {
      this.#open.members.push(member);
      this.#open.plans.push(Object.freeze(memberPlan(member)));
    }
  }

  #closePool(): void {
    if (this.#open === null) return;
    const { head, members, plans } = this.#open;
    this.#open = null;
    const section = deepFreeze({ ...head.section, members: Object.freeze(head.sources === undefined ? plans : []) });
    this.#pools.push(deepFreeze({ ...head, section, members: Object.freeze(members) }));
    this.#sections.set(section.hash, section);
  }
}
