/**
 * Every reason a check can give, with its cause and what to do about it. The one source of the words
 * shown by the admin API, events and the troubleshooting page. The order fixes the numbers in
 * CHECK_REASON, so new reasons go to the end.
 */
export interface ReasonText {
  readonly word: ReasonWord;
  /** What usually lies behind it, one sentence. */
  readonly cause: string;
  /** What the operator can do, one sentence. */
  readonly remedy: string;
}

export type ReasonWord =
  | 'CONNECT_TIMEOUT'
  | 'CONNECT_FAILED'
  | 'RECV_RESPONSE_TIMEOUT'
  | 'CONNECT_INTERRUPT'
  | 'HTTP_CODE_NOT_MATCH'
  | 'HTTP_INVALID_HEADER'
  | 'RESPONSE_NOT_MATCH'
  | 'PORT_UNREACHABLE'
  | 'NO_ECHO'
  | 'LOCAL_TROUBLE';

export const REASONS: readonly ReasonText[] = Object.freeze([
  {
    word: 'CONNECT_TIMEOUT',
    cause: 'The server did not answer the connection attempt: host down, packets dropped, or its accept queue is full.',
    remedy: 'Check that the host is up and firewalls let this port through; raise health_timeout if it is only slow.',
  },
  {
    word: 'CONNECT_FAILED',
    cause: 'The connection was refused or no route leads to the server: nothing listens on that address and port.',
    remedy: 'Start the service, or correct the address or port (health_port, health_upstream) in the configuration.',
  },
  {
    word: 'RECV_RESPONSE_TIMEOUT',
    cause: 'The server accepted the connection but sent no whole response in time: hung, overloaded, or a slow page.',
    remedy: 'Look at the load and logs of the server; point health_uri at a cheaper page or raise health_timeout.',
  },
  {
    word: 'CONNECT_INTERRUPT',
    cause: 'The server cut the connection before its response was complete: a crash, a restart, or another protocol.',
    remedy: 'Look for crashes in the logs of the server, and check that this port speaks plain HTTP.',
  },
  {
    word: 'HTTP_CODE_NOT_MATCH',
    cause: 'The server answered with a status that the check does not accept.',
    remedy: 'Open health_uri on the server itself; fix what it reports, or change health_uri or health_status.',
  },
  {
    word: 'HTTP_INVALID_HEADER',
    cause: 'What the server sent is not an HTTP/1 response.',
    remedy: 'Check that the port is the HTTP port and not a TLS or database port.',
  },
  {
    word: 'RESPONSE_NOT_MATCH',
    cause: 'The response came, but its content is not what the check expects.',
    remedy: 'Compare the body shown with the result with the health_body pattern.',
  },
  {
    word: 'PORT_UNREACHABLE',
    cause: 'The host answered that nothing listens on the UDP port.',
    remedy: 'Start the service, or correct the port in the configuration.',
  },
  {
    word: 'NO_ECHO',
    cause: 'The host did not answer an echo request.',
    remedy: 'Check that the host is up and that ICMP echo is allowed to it.',
  },
  {
    word: 'LOCAL_TROUBLE',
    cause: 'This machine could not carry out the check (descriptors, ports, memory, CPU); the server is not to blame.',
    remedy: 'Raise the limits of this machine (open files, local port range) or give it more CPU.',
  },
] as const);

/** The number of a reason in CHECK_REASON; 0 for '' (none). */
export function reasonCode(word: ReasonWord | ''): number {
  return REASONS.findIndex((reason) => reason.word === word) + 1;
}

/** Cause and remedy of a word; empty texts for '' (none). */
export function explainReason(word: string): { readonly cause: string; readonly remedy: string } {
  return REASONS.find((reason) => reason.word === word) ?? { cause: '', remedy: '' };
}
