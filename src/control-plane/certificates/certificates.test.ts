import assert from 'node:assert/strict';
import { X509Certificate } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { eventually } from '../../../test/support/backend.ts';
import { TestAuthority } from '../../../test/support/certificates.ts';
import type { Clock } from '../../shared/clock.ts';
import { loggerTo } from '../../shared/log.ts';
import type { ControlMessage } from '../../shared/messages.ts';
import type { CertificateSpec, CompiledTls } from '../compile/compiled.ts';
import { NOTHING_ISSUED } from '../compile/managed-specs.ts';
import { Certificates } from './certificates.ts';

const HOUR_MS = 3_600_000;
const LOCAL = {
  id: 'local',
  name: 'Local',
  rootCommonName: 'Local - Root',
  intermediateCommonName: 'Local - Intermediate',
  intermediateLifetimeMs: 7 * 24 * HOUR_MS,
  root: null,
};

function internal(name: string, rest: Partial<Extract<CertificateSpec, { source: 'internal' }>> = {}): CertificateSpec {
  return {
    source: 'internal',
    name,
    authority: 'local',
    lifetimeMs: 12 * HOUR_MS,
    signWithRoot: false,
    place: 'Caddyfile:1',
    ...rest,
  };
}

function needs(...certificates: CertificateSpec[]): CompiledTls {
  return { certificates, issuance: NOTHING_ISSUED, authorities: [LOCAL] };
}

/** Real time plus what a test adds; timers run when it says so. */
class ShiftedClock implements Clock {
  #shiftMs = 0;
  #tasks: (() => void)[] = [];

  now(): number {
    return performance.now() + this.#shiftMs;
  }

  wall(): number {
    return Date.now() + this.#shiftMs;
  }

  after(_delayMs: number, task: () => void): { cancel(): void } {
    this.#tasks.push(task);
    return { cancel: () => void (this.#tasks = this.#tasks.filter((other) => other !== task)) };
  }

  afterPoll(task: () => void): void {
    setImmediate(task);
  }

  /** Moves time on and runs what waits, once. */
  advance(ms: number): void {
    this.#shiftMs += ms;
    const tasks = this.#tasks;
    this.#tasks = [];
    for (const task of tasks) task();
  }
}

interface World {
  readonly clock: ShiftedClock;
  readonly certificates: Certificates;
  readonly sent: Extract<ControlMessage, { type: 'certificates' }>[];
  readonly tickets: Uint8Array[];
  readonly events: string[];
  readonly warnings: string[];
}

function world(t: TestContext, dataDir?: string): World {
  const clock = new ShiftedClock();
  const sent: World['sent'] = [];
  const tickets: Uint8Array[] = [];
  const events: string[] = [];
  const warnings: string[] = [];
  const certificates = new Certificates({
    clock,
    log: loggerTo((_level, message) => warnings.push(message)),
    dataDir,
    broadcast: (message) => {
      if (message.type === 'certificates') sent.push(message);
      if (message.type === 'ticket-keys') tickets.push(message.keys);
    },
    onEvent: (type, message) => void events.push(`${type}: ${message}`),
  });
  t.after(() => certificates.stop());
  return { clock, certificates, sent, tickets, events, warnings };
}

function folder(t: TestContext): string {
  const path = mkdtempSync(join(tmpdir(), 'holdfast-ca-'));
  t.after(() => rmSync(path, { recursive: true }));
  return path;
}

test('a leaf of the local authority is signed by its intermediate, that by its root', async (t) => {
  const dir = folder(t);
  const { certificates, sent } = world(t, dir);
  await certificates.prepare(needs(internal('localhost')));
  const [leaf, intermediate] = (sent[0]!.add[0]!.chain.match(/-----BEGIN[\s\S]+?-----END CERTIFICATE-----/g) ?? []).map(
    (pem) => new X509Certificate(pem),
  );
  const root = new X509Certificate(readFileSync(join(dir, 'pki/authorities/local/root.crt')));
  assert.equal(leaf!.subjectAltName, 'DNS:localhost');
  assert.ok(leaf!.verify(intermediate!.publicKey) && leaf!.checkIssued(intermediate!));
  assert.ok(intermediate!.verify(root.publicKey) && intermediate!.checkIssued(root));
  assert.ok(root.ca && intermediate!.ca && !leaf!.ca);
  assert.equal(statSync(join(dir, 'pki/authorities/local/root.key')).mode & 0o777, 0o600);
  assert.equal(statSync(join(dir, 'pki/authorities/local')).mode & 0o777, 0o700);
});

test('without a data directory it works, and says what that means', async (t) => {
  const { certificates, warnings, sent } = world(t);
  await certificates.prepare(needs(internal('localhost'), internal('127.0.0.1', { signWithRoot: true })));
  assert.equal(warnings.filter((message) => message.includes('kept in memory only')).length, 1);
  assert.deepEqual(
    sent[0]!.add.map(({ names }) => names),
    [['localhost'], ['127.0.0.1']],
  );
  assert.equal(sent[0]!.add[1]!.chain.match(/BEGIN/g)?.length, 1, 'signed by the root itself');
});

test('a leaf is renewed at two thirds of its life, and the old one dropped', async (t) => {
  const { certificates, clock, sent, events } = world(t, folder(t));
  await certificates.prepare(needs(internal('localhost')));
  certificates.activate();
  const [first] = sent[0]!.add;
  clock.advance(7 * HOUR_MS);
  await new Promise((resolve) => setTimeout(resolve, 50));
  assert.equal(sent.length, 1, 'too early');
  clock.advance(1.1 * HOUR_MS);
  await eventually(() => sent.length === 2, 'the renewal');
  assert.deepEqual(sent[1]!.drop, [first!.id]);
  assert.match(events.at(-1)!, /^certificate-renewed: a new certificate for localhost is served/);
  assert.equal(certificates.status()[0]!.renewals, 1);
});

test('what no config names any more is dropped once the new one is in force, and not before', async (t) => {
  const { certificates, sent } = world(t, folder(t));
  await certificates.prepare(needs(internal('a.internal')));
  certificates.activate();
  await certificates.prepare(needs(internal('b.internal')));
  assert.deepEqual([sent[1]!.add.length, sent[1]!.drop.length], [1, 0]);
  certificates.activate();
  assert.deepEqual([sent[2]!.add.length, sent[2]!.drop], [0, [sent[0]!.add[0]!.id]]);
});

test('a config that fails leaves nothing behind', async (t) => {
  const { certificates, sent } = world(t, folder(t));
  await certificates.prepare(needs(internal('a.internal')));
  certificates.activate();
  const missing = {
    source: 'files',
    certificate: '/nowhere/a.crt',
    key: '/nowhere/a.key',
    tags: [],
    place: 'Caddyfile:9',
  } as const;
  await assert.rejects(certificates.prepare(needs(internal('b.internal'), missing)), {
    name: 'ConfigError',
    message: /^no certificate for \/nowhere\/a\.crt: cannot read \/nowhere\/a\.crt: ENOENT.*, at Caddyfile:9$/,
  });
  assert.equal(sent.length, 1);
  assert.deepEqual(
    certificates.status().map(({ label }) => label),
    ['a.internal'],
  );
});

test('a damaged root is told and not replaced: clients trust it', async (t) => {
  const dir = folder(t);
  const { certificates } = world(t, dir);
  await certificates.prepare(needs(internal('a.internal')));
  writeFileSync(join(dir, 'pki/authorities/local/root.key'), 'rubbish');
  await assert.rejects(
    world(t, dir).certificates.prepare(needs(internal('a.internal'))),
    /root\.crt is damaged: remove it/,
  );
});

test('a certificate from a file that ends soon is warned of once', async (t) => {
  const authority = await TestAuthority.create(t);
  const { certificateFile, keyFile } = await authority.leaf('a', ['a.test'], 3 * 24 * HOUR_MS);
  const { certificates, events, clock } = world(t);
  await certificates.prepare(
    needs({ source: 'files', certificate: certificateFile, key: keyFile, tags: [], place: 'Caddyfile:1' }),
  );
  certificates.activate();
  clock.advance(6000);
  await new Promise((resolve) => setTimeout(resolve, 50));
  assert.equal(events.filter((event) => event.startsWith('certificate-expiring')).length, 1);
});

test('a new worker is told everything, and the keys of tickets change every 12 hours', async (t) => {
  const { certificates, clock, tickets } = world(t, folder(t));
  await certificates.prepare(needs(internal('a.internal')));
  certificates.activate();
  const greeting = certificates.greeting();
  assert.deepEqual(
    greeting.map(({ type }) => type),
    ['ticket-keys', 'certificates'],
  );
  clock.advance(12.1 * HOUR_MS);
  await eventually(() => tickets.length === 1, 'new keys');
  const [before] = greeting;
  assert.equal(tickets[0]!.length, 48);
  assert.notDeepEqual(before?.type === 'ticket-keys' ? before.keys : null, tickets[0]);
});
