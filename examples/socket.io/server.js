// One Socket.IO server, its sessions in memory. Run three on ports 3001 to 3003 behind the Caddyfile of this folder.
import { createServer } from 'node:http';
import { Server } from 'socket.io';

const { PORT = '3001', NAME = `chat-${PORT}` } = process.env;

const http = createServer((req, res) => {
  if (req.url !== '/healthz') res.statusCode = 404;
  res.end(`${NAME}\n`);
});
http.keepAliveTimeout = 150_000;

const io = new Server(http);

io.on('connection', (socket) => {
  socket.emit('welcome', { server: NAME, sid: socket.conn.id });
  socket.on('say', (text, reply) => reply({ server: NAME, text }));
});

// Code 1 is "Session ID unknown": the request belongs to a session of another server, or of an earlier life of this one.
io.engine.on('connection_error', ({ req, code, message }) => {
  const sid = new URL(req.url, 'http://localhost').searchParams.get('sid');
  console.log(JSON.stringify({ refused: message, code, sid }));
});

http.listen(Number(PORT), '127.0.0.1', () => console.log(`${NAME} listens on ${http.address().port}`));
