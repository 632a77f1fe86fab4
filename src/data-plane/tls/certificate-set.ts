/** The certificates this worker holds, found by name. */
import type { CertificatePlan, TlsPolicyPlan } from '../../shared/plan/tls.ts';
import { lookupNames } from '../../shared/net/host-pattern.ts';

export class CertificateSet {
  readonly #byId = new Map<string, CertificatePlan>();
  readonly #byName = new Map<string, CertificatePlan[]>();

  update(add: readonly CertificatePlan[], drop: readonly string[]): void {
    for (const id of drop) this.#remove(id);
    for (const certificate of add) {
      if (this.#byId.has(certificate.id)) continue;
      this.#byId.set(certificate.id, certificate);
      for (const name of certificate.names) {
        const list = this.#byName.get(name);
        if (list === undefined) this.#byName.set(name, [certificate]);
        else list.push(certificate);
      }
    }
  }

  /**
   * What a client that asked for `name` ('' = none) is shown under a policy: at most one certificate of each key
   * type, none when there is nothing for it. A policy that selects by tag shows what it has rather than nothing.
   */
  find(policy: TlsPolicyPlan, name: string, localAddress: string): readonly CertificatePlan[] {
    const wanted = name === '' ? policy.defaultSni || localAddress : name;
    const found = this.#named(policy, wanted);
    if (found.length > 0) return found;
    const spare = policy.fallbackSni === '' ? found : this.#named(policy, policy.fallbackSni);
    if (spare.length > 0 || !selects(policy)) return spare;
    return oneOfEachKind([...this.#byId.values()].filter((certificate) => isSelected(policy, certificate)));
  }

  #named(policy: TlsPolicyPlan, name: string): readonly CertificatePlan[] {
    for (const candidate of lookupNames(name)) {
      const found = this.#byName.get(candidate)?.filter((certificate) => isSelected(policy, certificate)) ?? [];
      if (found.length > 0) return oneOfEachKind(found);
    }
    return [];
  }

  #remove(id: string): void {
    const certificate = this.#byId.get(id);
    if (certificate === undefined) return;
    this.#byId.delete(id);
    for (const name of certificate.names) {
      const left = this.#byName.get(name)?.filter((other) => other !== certificate) ?? [];
      if (left.length > 0) this.#byName.set(name, left);
      else this.#byName.delete(name);
    }
  }
}

function selects({ anyTag, allTags }: TlsPolicyPlan): boolean {
  return anyTag.length > 0 || allTags.length > 0;
}

function isSelected({ anyTag, allTags }: TlsPolicyPlan, { tags }: CertificatePlan): boolean {
  if (anyTag.length > 0 && !anyTag.some((tag) => tags.includes(tag))) return false;
  return allTags.every((tag) => tags.includes(tag));
}

/** Of certificates of one kind the first that came stays. */
function oneOfEachKind(certificates: readonly CertificatePlan[]): readonly CertificatePlan[] {
  return certificates.filter(({ keyType }, at) => certificates.findIndex((other) => other.keyType === keyType) === at);
}
