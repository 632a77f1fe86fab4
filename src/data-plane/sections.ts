/** The sections a worker holds, and pools compiled from them. What no generation names any more is dropped. */
import type {
  MemberRows,
  PlanManifest,
  PoolRows,
  Section,
  SectionHash,
  SiteSection,
} from '../shared/plan/types.ts';
import type { StateTable } from '../shared/state-table/table.ts';
import { Pool } from './pool/pool.ts';

export class Sections {
  readonly #table: StateTable;
  readonly #sites = new Map<SectionHash, SiteSection>();
  readonly #pools = new Map<SectionHash, Pool>();

  constructor(table: StateTable) {
    this.#table = table;
  }

  /** Throws when the section cannot be compiled. A section that is already here keeps its compiled form. */
  add(section: Section, rows: PoolRows | null): void {
    if (section.kind === 'site') {
      this.#sites.set(section.hash, section);
      return;
    }
    if (rows === null) throw new Error(`pool section ${section.hash} came without rows`);
    if (!this.#pools.has(section.hash)) this.#pools.set(section.hash, new Pool(section, rows, this.#table));
  }

  site(hash: SectionHash): SiteSection {
    const site = this.#sites.get(hash);
    if (site === undefined) throw new Error(`site section ${hash} was not staged`);
    return site;
  }

  pool(hash: SectionHash): Pool {
    const pool = this.#pools.get(hash);
    if (pool === undefined) throw new Error(`pool section ${hash} was not staged`);
    return pool;
  }

  updateEndpoints(pool: SectionHash, member: number, rows: MemberRows): void {
    this.#pools.get(pool)?.setMember(member, rows);
  }

  /** Drops every section that none of `manifests` names. */
  retain(manifests: readonly PlanManifest[]): void {
    const named = new Set(manifests.flatMap((manifest) => manifest.sections));
    for (const held of [this.#sites, this.#pools]) {
      for (const hash of held.keys()) if (!named.has(hash)) held.delete(hash);
    }
  }
}
