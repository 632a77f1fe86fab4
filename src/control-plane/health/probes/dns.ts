import type { Random } from '../../../shared/random.ts';
import { attempt } from '../attempt.ts';
import type { Probe } from '../probe.ts';
import type { DnsProbeSpec, DnsType } from '../probe-spec.ts';
import { askOnce } from './datagrams.ts';
import { randomBytes } from './random-bytes.ts';

/** RFC 1035 section 3.2.2, RFC 3596, RFC 2782. */
const DNS_TYPES: Readonly<Record<DnsType, number>> = Object.freeze({
  A: 1,
  NS: 2,
  CNAME: 5,
  SOA: 6,
  MX: 15,
  TXT: 16,
  AAAA: 28,
  SRV: 33,
});
const CLASS_IN = 1;
const HEADER_BYTES = 12;
const RECURSION_DESIRED = 0x0100;
const RESPONSE = 0x80;
const NOERROR = 0;
const NXDOMAIN = 3;
/** RFC 1035 section 4.1.1 and RFC 2136. */
const CODES: readonly string[] = Object.freeze(['NOERROR', 'FORMERR', 'SERVFAIL', 'NXDOMAIN', 'NOTIMP', 'REFUSED']);

/**
 * `dns`: a question over UDP. The answer has to carry its id and repeat it; NOERROR and NXDOMAIN pass,
 * with `alive` every code does.
 */
export function dnsCheck(spec: DnsProbeSpec, random: Random): Probe {
  const question = questionOf(spec);
  return {
    run: (target, options, deps) =>
      attempt(options.timeoutMs, deps, async (run) => {
        const bytes = Buffer.concat([headerOf(randomBytes(random, 2)), question]);
        const code = await askOnce(run, target, options, {
          bytes,
          text: `${spec.type} of ${spec.name === '' ? 'the root' : spec.name}?`,
          read: (answer) => readAnswer(answer, bytes, spec.alive),
        });
        return { detail: `answered ${CODES[code] ?? `code ${code}`}` };
      }),
  };
}

function headerOf(id: Buffer): Buffer {
  const header = Buffer.alloc(HEADER_BYTES);
  id.copy(header);
  header.writeUInt16BE(RECURSION_DESIRED, 2);
  header.writeUInt16BE(1, 4);
  return header;
}

function questionOf({ name, type }: DnsProbeSpec): Buffer {
  const labels = name.split('.').filter((label) => label !== '');
  const parts = labels.flatMap((label) => [Buffer.from([label.length]), Buffer.from(label, 'latin1')]);
  const tail = Buffer.alloc(5);
  tail.writeUInt16BE(DNS_TYPES[type], 1);
  tail.writeUInt16BE(CLASS_IN, 3);
  return Buffer.concat([...parts, tail]);
}

/** The answer's code, or why it does not pass. */
function readAnswer(answer: Buffer, asked: Buffer, alive: boolean): number | string {
  if (answer.length < HEADER_BYTES || (answer[2]! & RESPONSE) === 0) return 'what came is no DNS response';
  if (!answer.subarray(0, 2).equals(asked.subarray(0, 2))) return 'a response came with another id';
  const code = answer[3]! & 0x0f;
  if (!repeats(answer, asked)) return `the response (${CODES[code] ?? code}) does not repeat the question`;
  if (alive || code === NOERROR || code === NXDOMAIN) return code;
  return `answered ${CODES[code] ?? `code ${code}`}`;
}

/** Servers may leave the question out of an error they could not read it for. Letter case is theirs to choose. */
function repeats(answer: Buffer, asked: Buffer): boolean {
  const questions = answer.readUInt16BE(4);
  const code = answer[3]! & 0x0f;
  if (questions === 0) return code !== NOERROR && code !== NXDOMAIN;
  const question = (bytes: Buffer): string => bytes.toString('latin1', HEADER_BYTES, asked.length).toLowerCase();
  return questions === 1 && question(answer) === question(asked);
}
