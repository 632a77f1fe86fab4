/**
 * Clients with an address each. `visitors.ts <rounds> <port> <node,node,…> <address> …`: in each round every client
 * asks the node it used last for a name, or, when that one fails, the next. Prints a line `<round> <address> <node>
 * <name>` for each; 0 rounds go on until the end.
 */
import { connect } from 'node:net';

const CONNECT_MS = 1000;

const [, , rounds = '', port = '', list = '', ...addresses] = process.argv;
const nodes = list.split(',');
const last = Number(rounds) === 0 ? Number.POSITIVE_INFINITY : Number(rounds);

/** The greeting, '' when there is none in time. */
function greeting(node: string, localAddress: string): Promise<string> {
  const socket = connect({ host: node, port: Number(port), localAddress });
  return new Promise<string>((resolve) => {
    let text = '';
    const timer = setTimeout(resolve, CONNECT_MS, '');
    socket.on('error', () => resolve(''));
    socket.on('close', () => resolve(''));
    socket.on('data', (bytes) => {
      text += String(bytes);
      if (text.endsWith('\r\n')) resolve(text.trim());
    });
    socket.once('close', () => clearTimeout(timer));
  }).finally(() => socket.destroy());
}

async function visit(address: string): Promise<void> {
  let at = 0;
  for (let round = 1; round <= last; round += 1) {
    let name = '';
    while (name === '') {
      name = await greeting(nodes[at % nodes.length]!, address);
      if (name === '') at += 1;
    }
    console.log(`${round} ${address} ${nodes[at % nodes.length]} ${name}`);
    if (last === Number.POSITIVE_INFINITY) await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

await Promise.all(addresses.map(visit));
