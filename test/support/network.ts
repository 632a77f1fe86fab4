/** Several network namespaces on one switch: machines of one network, as far as the kernel is concerned. */
import type { TestContext } from 'node:test';
import { makeNamespace, type Namespace } from './namespace.ts';

const BRIDGE = 'br0';

export interface Network {
  /** A machine with these addresses of one /16, the first of which it speaks from. */
  join(label: string, ...addresses: readonly string[]): Promise<Namespace>;
}

export async function makeNetwork(t: TestContext, label: string): Promise<Network> {
  const hub = await makeNamespace(t, `${label}-hub`);
  await hub.must('ip', 'link', 'add', BRIDGE, 'type', 'bridge');
  await hub.must('ip', 'link', 'set', BRIDGE, 'up');
  let ports = 0;
  return {
    async join(name, ...addresses) {
      const namespace = await makeNamespace(t, `${label}-${name}`);
      ports += 1;
      const port = `port${ports}`;
      const cable = ['type', 'veth', 'peer', 'name', 'eth0', 'netns', namespace.name];
      await hub.must('ip', 'link', 'add', port, ...cable);
      await hub.must('ip', 'link', 'set', port, 'master', BRIDGE, 'up');
      for (const address of addresses) await namespace.must('ip', 'address', 'add', `${address}/16`, 'dev', 'eth0');
      await namespace.must('ip', 'link', 'set', 'eth0', 'up');
      return namespace;
    },
  };
}

/** Makes a chain for packets that come in, to which `filter` adds rules. */
export async function makeFilter(namespace: Namespace): Promise<void> {
  await namespace.must('nft', 'add table ip filter');
  await namespace.must('nft', 'add chain ip filter in { type filter hook input priority 0 ; }');
}

/** The rules that hold from now on. */
export async function filter(namespace: Namespace, ...rules: readonly string[]): Promise<void> {
  await namespace.must('nft', 'flush chain ip filter in');
  for (const rule of rules) await namespace.must('nft', `add rule ip filter in ${rule}`);
}
