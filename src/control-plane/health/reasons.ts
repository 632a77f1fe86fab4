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
  | 'LOCAL_TROUBLE'
  | 'TLS_FAILED'
  | 'TOO_SLOW'
  | 'TOO_MUCH_LOSS'
  | 'TOO_MUCH_JITTER';

export const REASONS: readonly ReasonText[] = Object.freeze([
  {
    word: 'CONNECT_TIMEOUT',
    cause: 'The server did not answer the connection attempt: host down, packets dropped, or its accept queue is full.',
    remedy: 'Check that the host is up and firewalls let this port through; raise the timeout if it is only slow.',
  },
  {
    word: 'CONNECT_FAILED',
    cause: 'The connection was refused or no route leads to the server: nothing listens on that address and port.',
    remedy: 'Start the service, or correct its address or port, or those of the check, in the configuration.',
  },
  {
    word: 'RECV_RESPONSE_TIMEOUT',
    cause:
      'The request went out, but no whole response came in time: hung, overloaded, slow, or (UDP) dropped on the way.',
    remedy:
      'Look at the load and logs of the server; ask it for something cheaper (health_uri, path) or raise the timeout.',
  },
  {
    word: 'CONNECT_INTERRUPT',
    cause: 'The server cut the connection before its response was complete: a crash, a restart, or another protocol.',
    remedy: 'Look for crashes in the logs of the server, and check that this port speaks the protocol of the check.',
  },
  {
    word: 'HTTP_CODE_NOT_MATCH',
    cause: 'The server answered with a status that the check does not accept.',
    remedy:
      'Open the checked path on the server itself; fix what it reports, or change the path or the accepted status.',
  },
  {
    word: 'HTTP_INVALID_HEADER',
    cause: 'What the server sent is not an HTTP/1 response.',
    remedy: 'Check that the port is the HTTP port and not a TLS or database port.',
  },
  {
    word: 'RESPONSE_NOT_MATCH',
    cause: 'The response came, but its content is not what the check expects.',
    remedy: 'Compare what is shown with the result with what the check expects.',
  },
  {
    word: 'PORT_UNREACHABLE',
    cause: 'The host answered that nothing listens on the UDP port.',
    remedy: 'Start the service, or correct the port in the configuration.',
  },
  {
    word: 'NO_ECHO',
    cause: 'The host did not answer an echo request.',
    remedy: 'Check that the host is up and that ICMP echo is allowed to it, or write echo off.',
  },
  {
    word: 'LOCAL_TROUBLE',
    cause: 'This machine could not carry out the check (descriptors, ports, memory, CPU); the server is not to blame.',
    remedy:
      'Raise the limits of this machine (open files, local port range), give it more CPU, or correct source if it is none of its addresses.',
  },
  {
    word: 'TLS_FAILED',
    cause: 'The connection came about, but no TLS session: no TLS on that port, or a certificate that is not trusted.',
    remedy: 'Correct the name after tls, renew the certificate, or write insecure where its issuer is your own.',
  },
  {
    word: 'TOO_SLOW',
    cause: 'The probe passed, but took longer than max_rtt allows.',
    remedy: 'Look at the load of the server and at the way to it, or raise max_rtt.',
  },
  {
    word: 'TOO_MUCH_LOSS',
    cause: 'More probes of one burst went unanswered than max_loss allows.',
    remedy: 'Look for a full link or an overloaded server on the way, or raise max_loss.',
  },
  {
    word: 'TOO_MUCH_JITTER',
    cause: 'The round trips of one burst differed by more than max_jitter allows.',
    remedy: 'Look for a link that fills up now and then or a busy server, or raise max_jitter.',
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
