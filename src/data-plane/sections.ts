/** The sections a worker holds, and pools compiled from them. What no generation names any more is dropped. */
import type { Layer4Section } from '../shared/plan/layer4.ts';
import type {
  MemberPlan,
  MemberRows,
  PlanManifest,
  PoolRows,
  PoolSection,
  Section,
  SectionHash,
  SiteSection,
} from '../shared/plan/types.ts';
import type { StateTable } from '../shared/state-table/table.ts';
import { Pool } from './pool/pool.ts';
import { addStreamKeys } from './route/stream-keys.ts';

/** Members of a large pool, before its section is complete. */
interface Arriving {
  readonly members: MemberPlan[];
  readonly rows: MemberRows[];
}

export class Sections {
  readonly #table: StateTable;
  readonly #sites = new Map<SectionHash, SiteSection>();
  readonly #layer4 = new Map<SectionHash, Layer4Section>();
  readonly #pools = new Map<SectionHash, Pool>();
  readonly #arriving = new Map<SectionHash, Arriving>();
  /** Pools that requests named the upstreams of: in no manifest, dropped by name. */
  readonly #derived = new Map<SectionHash, Pool>();

  constructor(table: StateTable) {
    this.#table = table;
  }

  /** Members that stand before those of the pool's section, which comes last. */
  addMembers(pool: SectionHash, members: readonly MemberPlan[], rows: readonly MemberRows[]): void {
    const arriving = this.#arriving.get(pool) ?? { members: [], rows: [] };
    this.#arriving.set(pool, arriving);
    arriving.members.push(...members);
    arriving.rows.push(...rows);
  }

  /** Throws when the section cannot be compiled. A section that is already here keeps its compiled form. */
  add(section: Section, rows: PoolRows | null): void {
    if (section.kind === 'site') {
      this.#sites.set(section.hash, section);
      return;
    }
    if (section.kind === 'layer4') {
      this.#layer4.set(section.hash, section);
      return;
    }
    if (rows === null) throw new Error(`pool section ${section.hash} came without rows`);
    const first = this.#arriving.get(section.hash);
    this.#arriving.delete(section.hash);
    if (this.#pools.has(section.hash)) return;
    const whole = first === undefined ? section : { ...section, members: first.members.concat(section.members) };
    const allRows = first === undefined ? rows : { ...rows, members: first.rows.concat(rows.members) };
    this.#pools.set(section.hash, new Pool(whole, allRows, this.#table));
  }

  site(hash: SectionHash): SiteSection {
    const site = this.#sites.get(hash);
    if (site === undefined) throw new Error(`site section ${hash} was not staged`);
    return site;
  }

  layer4(hash: SectionHash): Layer4Section {
    const section = this.#layer4.get(hash);
    if (section === undefined) throw new Error(`layer-4 section ${hash} was not staged`);
    return section;
  }

  pool(hash: SectionHash): Pool {
    const pool = this.#pools.get(hash);
    if (pool === undefined) throw new Error(`pool section ${hash} was not staged`);
    return pool;
  }

  derived(hash: SectionHash): Pool | undefined {
    return this.#derived.get(hash);
  }

  addDerived(section: PoolSection, rows: PoolRows): void {
    if (!this.#derived.has(section.hash)) this.#derived.set(section.hash, new Pool(section, rows, this.#table));
  }

  /** For requests that still run in it nobody is there any more: its rows may soon be others'. */
  dropDerived(hash: SectionHash): void {
    this.#derived.get(hash)?.retire();
    this.#derived.delete(hash);
  }

  updateEndpoints(pool: SectionHash, member: number, rows: MemberRows): void {
    (this.#pools.get(pool) ?? this.#derived.get(pool))?.setMember(member, rows);
    const arriving = this.#arriving.get(pool);
    if (arriving !== undefined && member < arriving.rows.length) arriving.rows[member] = rows;
  }

  /** A pool found in DNS has other members; one that is not here is told of with its section. */
  recastPool(pool: SectionHash, rows: PoolRows): void {
    this.#pools.get(pool)?.recast(rows);
  }

  /** Keys of the handlers of a generation that limit their tunnels. */
  streamKeys({ servers }: PlanManifest): ReadonlySet<string> {
    const keys = new Set<string>();
    for (const { sites, errorSites } of servers) {
      for (const hash of [...sites, ...errorSites]) addStreamKeys([this.site(hash).route], keys);
    }
    return keys;
  }

  /** Drops every section that none of `manifests` names, and what is not complete. */
  retain(manifests: readonly PlanManifest[]): void {
    this.#arriving.clear();
    const named = new Set(manifests.flatMap((manifest) => manifest.sections));
    for (const held of [this.#sites, this.#layer4, this.#pools]) {
      for (const hash of held.keys()) if (!named.has(hash)) held.delete(hash);
    }
  }
}
