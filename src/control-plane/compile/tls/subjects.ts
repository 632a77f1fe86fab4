/** Which names a certificate can be had for, and from whom. */
import { parseIp } from '../../../shared/net/ip.ts';

/** Names no authority would sign contain one of these, or begin or end with a dot. */
const NO_CERTIFICATE = /[()[\]{}<> \t\n"\\!@#$%^&|;'+=]|^\.|\.$|^$/;
/** Names that belong to one machine or one network. */
const INTERNAL = /^localhost$|\.(?:localhost|local|internal|home\.arpa)$/;

export function qualifiesForCertificate(name: string): boolean {
  return !NO_CERTIFICATE.test(name);
}

/** Only an authority of our own signs for it: a local name, an IP address, or a wildcard that no public one signs. */
export function isInternalName(name: string): boolean {
  if (INTERNAL.test(name) || parseIp(name) !== null) return true;
  return name.includes('*') && !/^\*\.[^*]+\.[^*]+$/.test(name);
}
