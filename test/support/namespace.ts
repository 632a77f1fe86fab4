/** Network namespaces of a test's own, made and removed by it. They need root, and iproute2. */
import assert from 'node:assert/strict';
import type { TestContext } from 'node:test';
import { findProgram, type Outcome, type Program, runProgram, startProgram } from './program.ts';

const IP = findProgram('ip');

export interface Namespace {
  readonly name: string;
  /** Runs a command inside, to its end. */
  run(...command: readonly string[]): Promise<Outcome>;
  /** As `run`; a command that fails fails the test. */
  must(...command: readonly string[]): Promise<string>;
  /** Starts a program inside that runs until the test ends. */
  start(...command: readonly string[]): Program;
}

/** The `skip` option of a test that needs namespaces and these programs: false when all are there, else why not. */
export async function unlessNamespaces(...programs: readonly string[]): Promise<false | string> {
  const missing = ['ip', ...programs].filter((name) => findProgram(name) === undefined);
  if (missing.length > 0) return `${missing.join(', ')} not installed (test/peers/packages.txt lists what is needed)`;
  const name = `holdfast-try-${process.pid}`;
  const made = await runProgram(IP!, ['netns', 'add', name]);
  if (made.code !== 0) return `network namespaces cannot be made here: ${made.stderr.trim()}`;
  await runProgram(IP!, ['netns', 'delete', name]);
  return false;
}

/** A namespace whose loopback is up. */
export async function makeNamespace(t: TestContext, label: string): Promise<Namespace> {
  const name = `holdfast-${process.pid}-${label}`;
  const inside = (command: readonly string[]): string[] => ['netns', 'exec', name, ...command];
  const made = await runProgram(IP!, ['netns', 'add', name]);
  assert.equal(made.code, 0, made.stderr);
  t.after(() => runProgram(IP!, ['netns', 'delete', name]));
  const namespace: Namespace = {
    name,
    run: (...command) => runProgram(IP!, inside(command)),
    must: async (...command) => {
      const { code, stdout, stderr } = await namespace.run(...command);
      assert.equal(code, 0, `${command.join(' ')}: ${stderr}`);
      return stdout;
    },
    // The program of `ip` becomes the command, so signals reach it.
    start: (...command) => startProgram(t, IP!, inside(command)),
  };
  await namespace.must('ip', 'link', 'set', 'lo', 'up');
  return namespace;
}

/** A cable between two namespaces; `left` and `right` are their ends' addresses in one /24. */
export async function connectNamespaces(
  a: { readonly namespace: Namespace; readonly address: string },
  b: { readonly namespace: Namespace; readonly address: string },
): Promise<void> {
  await a.namespace.must(
    'ip',
    'link',
    'add',
    'eth0',
    'type',
    'veth',
    'peer',
    'name',
    'eth0',
    'netns',
    b.namespace.name,
  );
  for (const { namespace, address } of [a, b]) {
    await namespace.must('ip', 'address', 'add', `${address}/24`, 'dev', 'eth0');
    await namespace.must('ip', 'link', 'set', 'eth0', 'up');
  }
}
