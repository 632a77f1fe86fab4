import type { Pool } from '../../pool/pool.ts';

/** Where the endpoints of pools stand, by slot and identity; each pool is looked through once. */
export class Homes {
  readonly #byPool = new Map<Pool, ReadonlyMap<string, number>>();

  of(pool: Pool): ReadonlyMap<string, number> {
    let homes = this.#byPool.get(pool);
    if (homes === undefined) {
      homes = homesOf(pool);
      this.#byPool.set(pool, homes);
    }
    return homes;
  }
}

function homesOf(pool: Pool): ReadonlyMap<string, number> {
  const homes = new Map<string, number>();
  for (let position = 0; position < pool.size; position += 1) {
    for (const { slot } of pool.endpointsOf(position)) homes.set(homeKey(slot, pool.identity(position)), position);
  }
  return homes;
}

export function homeKey(slot: number, identity: string): string {
  return `${slot} ${identity}`;
}
