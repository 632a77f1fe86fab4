import type { SiteValue } from '../context.ts';
import type { SiteAddress } from '../routing/address.ts';
import type { Token } from '../syntax/token.ts';

/** A site block, parsed. */
export interface Site {
  readonly addresses: readonly SiteAddress[];
  readonly values: readonly SiteValue[];
  readonly token: Token;
}

/** The part of a site that one server serves: those of its addresses that listen there. */
export interface ServedSite {
  readonly site: Site;
  readonly addresses: readonly SiteAddress[];
}

/** Values of one kind, in order. */
export function valuesOf<Kind extends SiteValue['kind']>(site: Site, kind: Kind): Extract<SiteValue, { kind: Kind }>[] {
  return site.values.filter((value): value is Extract<SiteValue, { kind: Kind }> => value.kind === kind);
}

/** One of the addresses stands for every host. */
export function servesAllHosts(served: ServedSite): boolean {
  return served.addresses.some((address) => address.host === '');
}
