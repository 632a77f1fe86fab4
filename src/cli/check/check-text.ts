/** What `holdfast check` prints. PURE. */
import { isIP } from 'node:net';
import { joinHostPort, splitHostPort } from '../../shared/net/address.ts';
import type { CheckSpec } from '../../control-plane/compile/compiled.ts';
import { describeCheck } from '../../control-plane/health/describe.ts';
import type { ProbeResult, ProbeStep, ProbeTarget } from '../../control-plane/health/probe.ts';
import type { ReasonWord } from '../../control-plane/health/reasons.ts';

/** Bytes of a message that are shown. */
const SHOWN_BYTES = 160;
const ARROWS: Readonly<Record<ProbeStep['what'], string>> = Object.freeze({ sent: '→', received: '←', local: '·' });
/** Nothing at all came back: a filter on the way is the usual suspect. */
const UNANSWERED: Readonly<Record<'tcp' | 'udp', ReadonlySet<ReasonWord | ''>>> = Object.freeze({
  tcp: new Set<ReasonWord | ''>(['CONNECT_TIMEOUT']),
  udp: new Set<ReasonWord | ''>(['RECV_RESPONSE_TIMEOUT', 'NO_ECHO']),
});

interface Words {
  readonly cause: string;
  readonly remedy: string;
}

/** `tcp every 5s of 10.0.0.1:22, timeout 5000 ms` */
export function headingText(spec: CheckSpec, target: ProbeTarget): string {
  const where = joinHostPort(target.host, target.port);
  return `${describeCheck(spec).replace(/ every .*/, '')} of ${where}, timeout ${spec.timeoutMs} ms\n`;
}

/** One line: time, direction, what. */
export function stepText(step: ProbeStep): string {
  const bytes = step.bytes === undefined || step.bytes.length === 0 ? '' : `  ${bytesText(step.bytes)}`;
  return `${step.atMs.toFixed(1).padStart(9)} ms ${ARROWS[step.what]} ${step.text}${bytes}\n`;
}

/** `network` is what a filter would have to let through. */
export function resultText(
  network: 'tcp' | 'udp',
  target: ProbeTarget,
  result: ProbeResult,
  { cause, remedy }: Words,
): string {
  const verdict = { pass: 'PASS', fail: 'FAIL', neutral: 'NO VERDICT' }[result.outcome];
  const reason = result.reason === '' ? '' : ` ${result.reason}`;
  const lines = [
    ['verdict', `${verdict}${reason}: ${result.detail}`],
    ['time', `${result.roundTripMs.toFixed(1)} ms`],
    ['from', result.localAddress === '' ? 'no local address' : result.localAddress],
    ...(cause === '' ? [] : [['cause', cause]]),
    ...(remedy === '' ? [] : [['remedy', remedy]]),
    ...filterHints(network, target, result).map((hint) => ['filter', hint]),
  ];
  return `${lines.map(([name = '', text]) => `${name.padEnd(8)} ${text}`).join('\n')}\n`;
}

export function checkJson(address: string, steps: readonly ProbeStep[], result: ProbeResult, words: Words): unknown {
  return {
    address,
    outcome: result.outcome,
    reason: result.reason,
    detail: result.detail,
    ...words,
    round_trip_ms: Math.round(result.roundTripMs * 1000) / 1000,
    local_address: result.localAddress,
    status: result.status,
    ...(result.burst === undefined ? {} : { sent: result.burst.sent, lost: result.burst.lost }),
    steps: steps.map(({ atMs, what, text, bytes }) => ({
      at_ms: Math.round(atMs * 1000) / 1000,
      what,
      text,
      ...(bytes === undefined ? {} : { bytes: Buffer.from(bytes).toString('latin1') }),
    })),
  };
}

/** What lets this machine in at a server that drops packets silently. */
function filterHints(network: 'tcp' | 'udp', target: ProbeTarget, result: ProbeResult): readonly string[] {
  if (!UNANSWERED[network].has(result.reason)) return [];
  const from = splitHostPort(result.localAddress)?.host ?? '';
  const source = isIP(from) === 0 ? '<address of this machine>' : from;
  const v6 = isIP(target.host) === 6;
  const port = `--dport ${target.port}`;
  if (result.reason === 'NO_ECHO') {
    return [`a firewall at the server may drop echo requests of ${source}; or write echo off`];
  }
  return [
    `a firewall at the server may drop what comes from ${source}; to let it in, at the server:`,
    `${v6 ? 'ip6tables' : 'iptables'} -I INPUT -p ${network} -s ${source} ${port} -j ACCEPT`,
    `nft insert rule inet filter input ${v6 ? 'ip6' : 'ip'} saddr ${source} ${network} dport ${target.port} accept`,
    'in a cloud, the security group of the server needs a rule for it as well',
  ];
}

/** As text while it is text, else in hex. */
function bytesText(bytes: Uint8Array): string {
  const shown = Buffer.from(bytes).subarray(0, SHOWN_BYTES);
  const cut = bytes.length > SHOWN_BYTES ? `… (${bytes.length} bytes)` : '';
  const text = shown.toString('latin1');
  return /^[\t\r\n\x20-\x7e]*$/.test(text) ? `${JSON.stringify(text)}${cut}` : `hex:${shown.toString('hex')}${cut}`;
}
