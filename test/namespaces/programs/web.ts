/** Web servers, one for each address: `web.ts <port> <address> …`. Each answers with its address. */
import { createServer } from 'node:http';

const [, , port = '', ...addresses] = process.argv;
let listening = 0;

for (const address of addresses) {
  const server = createServer((_, response) => void response.end(`${address}\n`));
  server.listen(Number(port), address, () => {
    listening += 1;
    if (listening === addresses.length) console.log('listening');
  });
}
