/** `node udp-echo.ts PORT`: sends every datagram back. */
import { createSocket } from 'node:dgram';

const socket = createSocket({ type: 'udp4', recvBufferSize: 4_194_304 });
socket.on('message', (data, from) => socket.send(data, from.port, from.address));
socket.bind(Number(process.argv[2]), '127.0.0.1');
