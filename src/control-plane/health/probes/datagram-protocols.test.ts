/** Probes that wait for an answer over UDP. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { systemClock } from '../../../shared/clock.ts';
import { seededRandom } from '../../../shared/random.ts';
import type { Probe, ProbeResult } from '../probe.ts';
import type { DnsProbeSpec } from '../probe-spec.ts';
import { plainOptions, untilDecided } from '../tcp-probe.contract.ts';
import { startDatagramServer, udpProbeContract } from '../udp-probe.contract.ts';
import { dnsCheck } from './dns.ts';
import { quicCheck } from './quic.ts';
import { udpCheck } from './udp.ts';

const NO_ECHO = { ask: () => Promise.resolve({ outcome: 'none' as const }) };
const DNS: DnsProbeSpec = { kind: 'dns', name: 'example.com', type: 'A', alive: false };

async function ask(probe: Probe, answer: (question: Buffer) => Buffer, timeoutMs = 100): Promise<ProbeResult> {
  const server = await startDatagramServer((question, reply) => reply(answer(question)));
  const deps = { clock: systemClock, signal: new AbortController().signal };
  const result = await untilDecided(() =>
    probe.run({ host: '127.0.0.1', port: server.port }, plainOptions(timeoutMs), deps),
  );
  await server.close();
  return result;
}

/** A DNS answer without records. */
function dnsAnswer(question: Buffer, code: number): Buffer {
  const answer = Buffer.from(question);
  answer[2] = 0x81;
  answer[3] = 0x80 | code;
  return answer;
}

udpProbeContract({
  name: 'udp probe with an answer',
  probe: udpCheck({ kind: 'udp', echo: false, payload: 'ping', expect: { step: 'expect', bytes: 'pong' } }, NO_ECHO),
  answer: () => Buffer.from('pong'),
});

udpProbeContract({
  name: 'dns probe',
  probe: dnsCheck(DNS, seededRandom(1)),
  answer: (question) => dnsAnswer(question, 0),
});

test('dns: the question is as RFC 1035 has it, and the root is an empty name', async () => {
  const asked: string[] = [];
  const record = (question: Buffer): Buffer => {
    asked.push(question.toString('hex').slice(4));
    return dnsAnswer(question, 0);
  };
  await ask(dnsCheck({ ...DNS, type: 'AAAA' }, seededRandom(1)), record, 5000);
  await ask(dnsCheck({ ...DNS, name: '', type: 'NS' }, seededRandom(1)), record, 5000);
  assert.deepEqual(asked, ['01000001000000000000076578616d706c6503636f6d00001c0001', '010000010000000000000000020001']);
});

test('dns: NXDOMAIN passes, SERVFAIL and REFUSED do only as signs of life', async () => {
  const strict = dnsCheck(DNS, seededRandom(1));
  const alive = dnsCheck({ ...DNS, alive: true }, seededRandom(1));
  assert.equal((await ask(strict, (question) => dnsAnswer(question, 3))).outcome, 'pass');
  for (const code of [2, 5]) {
    const failed = await ask(strict, (question) => dnsAnswer(question, code));
    assert.equal(failed.reason, 'RESPONSE_NOT_MATCH');
    assert.match(failed.detail, /SERVFAIL|REFUSED/);
    assert.equal((await ask(alive, (question) => dnsAnswer(question, code))).outcome, 'pass');
  }
});

test('dns: another id, another question, and a question sent back are no answers', async () => {
  const probe = dnsCheck(DNS, seededRandom(1));
  const otherId = await ask(probe, (question) =>
    Buffer.concat([Buffer.from([question[0]! ^ 1]), dnsAnswer(question, 0).subarray(1)]),
  );
  assert.match(otherId.detail, /another id/);
  const otherName = await ask(probe, (question) => {
    const answer = dnsAnswer(question, 0);
    answer[13] = 'X'.charCodeAt(0);
    return answer;
  });
  assert.match(otherName.detail, /repeat the question/);
  assert.equal((await ask(probe, (question) => question)).reason, 'RESPONSE_NOT_MATCH');
  // Letter case is the server's to choose.
  const cased = await ask(
    probe,
    (question) => Buffer.from(dnsAnswer(question, 0).toString('latin1').replace('example', 'eXAMPLe'), 'latin1'),
    5000,
  );
  assert.equal(cased.outcome, 'pass', cased.detail);
});

function versionNegotiation(packet: Buffer, versions: readonly number[]): Buffer {
  const destination = packet.subarray(6, 14);
  const source = packet.subarray(15, 23);
  const list = Buffer.alloc(4 * versions.length);
  versions.forEach((version, at) => list.writeUInt32BE(version, 4 * at));
  const head = Buffer.from([0x80, 0, 0, 0, 0, 8]);
  return Buffer.concat([head, source, Buffer.from([8]), destination, list]);
}

udpProbeContract({
  name: 'quic probe',
  probe: quicCheck(seededRandom(1)),
  answer: (packet) => versionNegotiation(packet, [1]),
});

test('quic: 1200 bytes of a reserved version are sent, and the versions are shown', async () => {
  let sent: Buffer = Buffer.alloc(0);
  const result = await ask(
    quicCheck(seededRandom(1)),
    (packet) => {
      sent = packet;
      return versionNegotiation(packet, [1, 0x6b3343cf, 0xff00001d]);
    },
    5000,
  );
  assert.equal(sent.length, 1200);
  assert.equal(sent.subarray(0, 6).toString('hex'), 'c01a2a3a4a08');
  assert.equal(result.outcome, 'pass');
  assert.match(result.detail, /1, 2, 0xff00001d/);
});

test('quic: Version Negotiation for somebody else is no answer', async () => {
  const foreign = await ask(quicCheck(seededRandom(1)), (packet) => {
    const answer = versionNegotiation(packet, [1]);
    answer[7]! ^= 1;
    return answer;
  });
  assert.equal(foreign.reason, 'RESPONSE_NOT_MATCH');
});

test('garbage of any length throws nothing', async () => {
  for (const probe of [dnsCheck({ ...DNS, alive: true }, seededRandom(1)), quicCheck(seededRandom(1))]) {
    const server = await startDatagramServer((question, reply) => {
      for (let length = 0; length < 64; length += 1)
        reply(Buffer.concat([question.subarray(0, 2), Buffer.alloc(length, 0x81)]));
    });
    const deps = { clock: systemClock, signal: new AbortController().signal };
    const result = await untilDecided(() =>
      probe.run({ host: '127.0.0.1', port: server.port }, plainOptions(100), deps),
    );
    await server.close();
    assert.equal(result.reason, 'RESPONSE_NOT_MATCH');
  }
});
