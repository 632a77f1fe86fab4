/**
 * A TCP server that greets with its name and answers PING with PONG; prints how each connection ended and whom it
 * was with. `greeter.ts <port> <name>`
 */
import { createServer } from 'node:net';

const [, , port = '', name = ''] = process.argv;

createServer({ allowHalfOpen: true }, (socket) => {
  const peer = socket.remoteAddress;
  socket.on('error', (error: NodeJS.ErrnoException) => console.log(`${error.code} ${peer}`));
  socket.on('end', () => {
    console.log(`FIN ${peer}`);
    socket.end();
  });
  socket.on('data', (bytes) => void (String(bytes).startsWith('PING') && socket.write('PONG\r\n')));
  socket.write(`${name}\r\n`);
}).listen(Number(port), '0.0.0.0', () => console.log('listening'));
