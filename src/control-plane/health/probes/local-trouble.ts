/**
 * Errors of our own machine: no descriptors, no local ports, no memory, a local firewall rule. They
 * say nothing about the server and must not take it down.
 */
const LOCAL_CODES: ReadonlySet<string> = new Set([
  'EMFILE',
  'ENFILE',
  'EADDRNOTAVAIL',
  'EADDRINUSE',
  'ENOBUFS',
  'ENOMEM',
  'EACCES',
  'EPERM',
]);

/** `code` is the errno name of a socket error. */
export function isLocalTrouble(code: string): boolean {
  return LOCAL_CODES.has(code);
}
