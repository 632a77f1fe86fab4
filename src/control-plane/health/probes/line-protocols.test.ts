/** Probes of protocols that talk in lines or packets over TCP. */
import assert from 'node:assert/strict';
import type { Socket } from 'node:net';
import { test } from 'node:test';
import { systemClock } from '../../../shared/clock.ts';
import type { Probe, ProbeResult } from '../probe.ts';
import { plainOptions, startServer, tcpProbeContract, untilDecided } from '../tcp-probe.contract.ts';
import { mqttCheck } from './mqtt.ts';
import { redisCheck } from './redis.ts';
import { smtpCheck } from './smtp.ts';
import { sshCheck } from './ssh.ts';

interface Talk {
  readonly result: ProbeResult;
  /** All the probe said. */
  readonly said: Buffer;
  /** How the probe ended the connection. */
  readonly end: string;
}

/** Runs a probe against a server that plays `serve`. */
async function talk(probe: Probe, serve: (socket: Socket) => void, timeoutMs = 5000): Promise<Talk> {
  const end = Promise.withResolvers<string>();
  const said: Buffer[] = [];
  const server = await startServer((socket) => {
    socket.on('data', (bytes) => said.push(bytes));
    socket.once('end', () => end.resolve('FIN'));
    socket.once('error', (error: NodeJS.ErrnoException) => end.resolve(error.code ?? ''));
    socket.once('close', () => end.resolve('closed'));
    serve(socket);
  });
  const deps = { clock: systemClock, signal: new AbortController().signal };
  const result = await untilDecided(() =>
    probe.run({ host: '127.0.0.1', port: server.port }, plainOptions(timeoutMs), deps),
  );
  const how = await end.promise;
  await server.close();
  return { result, said: Buffer.concat(said), end: how };
}

/** Answers each line that begins with a word; `banner` comes first. */
function speaks(banner: string, answers: Readonly<Record<string, string>>): (socket: Socket) => void {
  return (socket) => {
    if (banner !== '') socket.write(banner);
    socket.on('data', (bytes) => {
      for (const line of String(bytes).split('\r\n')) {
        const answer = answers[line.split(' ')[0] ?? ''];
        if (answer !== undefined) socket.write(answer);
      }
    });
  };
}

const GREETING = '220-mail.test\r\n220 ready\r\n';
const MAIL = speaks(GREETING, { EHLO: '250-mail.test\r\n250 HELP\r\n', QUIT: '221 bye\r\n' });

tcpProbeContract({
  name: 'smtp probe',
  probe: smtpCheck({ kind: 'smtp', ehlo: '' }),
  options: plainOptions,
  serve: MAIL,
});

test('smtp: waits for the greeting, says EHLO when asked to, QUIT, and ends with FIN', async () => {
  const plain = await talk(smtpCheck({ kind: 'smtp', ehlo: '' }), MAIL);
  assert.equal(plain.result.outcome, 'pass', plain.result.detail);
  assert.equal(String(plain.said), 'QUIT\r\n');
  assert.equal(plain.end, 'FIN');
  const ehlo = await talk(smtpCheck({ kind: 'smtp', ehlo: 'lb.test' }), MAIL);
  assert.equal(ehlo.result.outcome, 'pass', ehlo.result.detail);
  assert.equal(String(ehlo.said), 'EHLO lb.test\r\nQUIT\r\n');
});

test('smtp: 421 and 554 greetings, refused EHLO and other protocols fail', async () => {
  for (const banner of ['421 busy\r\n', '554 no\r\n', 'SSH-2.0-x\r\n', '2200 x\r\n']) {
    const { result, said } = await talk(smtpCheck({ kind: 'smtp', ehlo: '' }), speaks(banner, {}));
    assert.equal(result.reason, 'RESPONSE_NOT_MATCH', banner);
    assert.equal(said.length, 0);
  }
  const refused = await talk(smtpCheck({ kind: 'smtp', ehlo: 'lb.test' }), speaks(GREETING, { EHLO: '550 no\r\n' }));
  assert.equal(refused.result.reason, 'RESPONSE_NOT_MATCH');
  assert.match(refused.result.detail, /EHLO.*550/);
});

tcpProbeContract({ name: 'ssh probe', probe: sshCheck(), options: plainOptions, serve: speaks('SSH-2.0-x\r\n', {}) });

test('ssh: lines before the identification are passed over, version 1 fails', async () => {
  const later = await talk(sshCheck(), speaks('Hello\r\nthere\nSSH-1.99-x\r\n', {}));
  assert.equal(later.result.outcome, 'pass', later.result.detail);
  assert.equal(later.end, 'FIN');
  assert.equal((await talk(sshCheck(), speaks('SSH-1.5-old\r\n', {}))).result.reason, 'RESPONSE_NOT_MATCH');
  assert.equal((await talk(sshCheck(), speaks('x\r\n'.repeat(100), {}))).result.reason, 'RESPONSE_NOT_MATCH');
});

const PONG = speaks('', { PING: '+PONG\r\n', QUIT: '+OK\r\n' });
tcpProbeContract({
  name: 'redis probe',
  probe: redisCheck({ kind: 'redis', strict: false }),
  options: plainOptions,
  serve: PONG,
});

test('redis: PONG passes, a wanted password passes unless strict, all else fails', async () => {
  const loose = redisCheck({ kind: 'redis', strict: false });
  const strict = redisCheck({ kind: 'redis', strict: true });
  const noauth = speaks('', { PING: '-NOAUTH Authentication required.\r\n' });
  const pong = await talk(strict, PONG);
  assert.equal(pong.result.outcome, 'pass');
  assert.equal(String(pong.said), '*1\r\n$4\r\nPING\r\n*1\r\n$4\r\nQUIT\r\n');
  assert.equal((await talk(loose, noauth)).result.outcome, 'pass');
  assert.equal((await talk(strict, noauth)).result.reason, 'RESPONSE_NOT_MATCH');
  const loading = await talk(loose, speaks('', { PING: '-LOADING Redis is loading\r\n' }));
  assert.equal(loading.result.reason, 'RESPONSE_NOT_MATCH');
  assert.match(loading.result.detail, /LOADING/);
});

function broker(answer: string): (socket: Socket) => void {
  return (socket) => socket.once('data', () => socket.write(Buffer.from(answer, 'hex')));
}

for (const version of [3, 5] as const) {
  tcpProbeContract({
    name: `mqtt ${version} probe`,
    probe: mqttCheck({ kind: 'mqtt', version }),
    options: plainOptions,
    serve: broker(version === 3 ? '20020000' : '2003000000'),
  });
}

test('mqtt: CONNECT and DISCONNECT are sent; a wanted login is alive, other refusals and packets fail', async () => {
  const v3 = await talk(mqttCheck({ kind: 'mqtt', version: 3 }), broker('20020000'));
  assert.equal(v3.result.outcome, 'pass', v3.result.detail);
  assert.equal(v3.said.toString('hex'), '100c00044d5154540402000a0000e000');
  assert.equal(v3.end, 'FIN');
  const login = await talk(mqttCheck({ kind: 'mqtt', version: 3 }), broker('20020005'));
  assert.equal(login.result.outcome, 'pass');
  assert.equal((await talk(mqttCheck({ kind: 'mqtt', version: 5 }), broker('2003008700'))).result.outcome, 'pass');
  assert.equal(
    (await talk(mqttCheck({ kind: 'mqtt', version: 3 }), broker('20020003'))).result.reason,
    'RESPONSE_NOT_MATCH',
  );
  assert.equal(
    (await talk(mqttCheck({ kind: 'mqtt', version: 5 }), broker('2003008800'))).result.reason,
    'RESPONSE_NOT_MATCH',
  );
  assert.equal(
    (await talk(mqttCheck({ kind: 'mqtt', version: 3 }), broker('d000'))).result.reason,
    'RESPONSE_NOT_MATCH',
  );
});

test('mqtt: properties that make the length two bytes long are read', async () => {
  const answer = await talk(mqttCheck({ kind: 'mqtt', version: 5 }), broker(`20830100008001${'00'.repeat(128)}`));
  assert.equal(answer.result.outcome, 'pass', answer.result.detail);
});
