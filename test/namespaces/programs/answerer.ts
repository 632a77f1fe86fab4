/** A UDP service that answers `hello` with `hi`, and nothing else: `answerer.ts <port>`. */
import { createSocket } from 'node:dgram';

const socket = createSocket('udp4');
socket.on('message', (data, from) => {
  if (String(data) === 'hello') socket.send('hi', from.port, from.address);
});
socket.on('error', (error) => console.log(error.message));
socket.bind(Number(process.argv[2]), () => console.log('listening'));
