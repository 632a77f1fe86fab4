// Server-sent events: whoever listens on /events gets what is posted to /publish. Node alone, no packages.
//
//   PORT=3001 node server.js
//   curl -N localhost:8080/events
//   curl -d 'hello' localhost:8080/publish
import { createServer } from 'node:http';
import { text } from 'node:stream/consumers';

const { PORT = '3001', HEARTBEAT_MS = '15000' } = process.env;

const streams = new Set();
const kept = [];
let lastId = 0;

const server = createServer((req, res) => {
  const route = `${req.method} ${req.url}`;
  if (route === 'GET /events') listen(req, res);
  else if (route === 'POST /publish') receive(req, res);
  else if (route === 'GET /healthz') res.end(`${streams.size} streams\n`);
  else res.writeHead(404).end();
});

function listen(req, res) {
  res.writeHead(200, { 'Content-Type': 'text/event-stream; charset=utf-8', 'Cache-Control': 'no-store' });
  // Without this Node keeps the head back until the first event, and the client does not know that it is connected.
  res.flushHeaders();
  // A client that comes back says what it saw last.
  const seen = Number(req.headers['last-event-id'] ?? lastId);
  for (const event of kept) if (event.id > seen) send(res, event);
  streams.add(res);
  res.on('close', () => streams.delete(res));
}

function receive(req, res) {
  text(req).then(
    (data) => res.end(`${publish(data)}\n`),
    () => res.destroy(),
  );
}

function publish(data) {
  const event = { id: (lastId += 1), data };
  kept.push(event);
  if (kept.length > 100) kept.shift();
  for (const res of streams) send(res, event);
  return event.id;
}

function send(res, { id, data }) {
  const lines = data.split(/\r\n|\r|\n/).map((line) => `data: ${line}\n`);
  res.write(`id: ${id}\n${lines.join('')}\n`);
}

// A comment now and then shows both ends that the other is still there.
setInterval(() => {
  for (const res of streams) res.write(': still here\n\n');
}, Number(HEARTBEAT_MS)).unref();

server.keepAliveTimeout = 150_000;
server.listen(Number(PORT), '127.0.0.1', () => console.log(`listens on ${server.address().port}`));
