// One application server with logins. Run three of them on ports 3001 to 3003 behind the Caddyfile of this folder.
//
//   PORT=3001 NAME=app1 node server.js                                        sessions live in this process
//   PORT=3001 NAME=app1 REDIS_URL=redis://127.0.0.1:6379 node server.js       sessions outlive it
import { RedisStore } from 'connect-redis';
import cookieParser from 'cookie-parser';
import express from 'express';
import session, { MemoryStore } from 'express-session';
import { createClientPool } from 'redis';

const { PORT = '3001', NAME = `app-${PORT}`, SESSION_SECRET = 'only for this example', REDIS_URL } = process.env;

const pool = REDIS_URL === undefined ? null : await openPool(REDIS_URL);
const store = pool === null ? new MemoryStore() : new RedisStore({ client: pool, prefix: 'example:' });
const startedAt = Date.now();

const app = express();
app.disable('x-powered-by');
// The balancer is the only one whose X-Forwarded-* are believed: req.ip and req.secure are the client's.
app.set('trust proxy', 'loopback');

// Before the session middleware: a check must not make sessions.
app.get('/healthz', (req, res) => {
  res.json({
    status: 'ok',
    server: NAME,
    uptimeSeconds: Math.round((Date.now() - startedAt) / 1000),
    // Shown, not judged: a cache that all servers share is no reason to take all of them out of service.
    pool: pool === null ? null : { total: pool.totalClients, idle: pool.idleClients, busy: pool.clientsInUse },
    cache: pool === null ? 'memory' : pool.isOpen ? 'redis' : 'redis closed',
  });
});

app.use(express.json());
app.use(cookieParser());
app.use(session({ store, secret: SESSION_SECRET, resave: false, saveUninitialized: false }));

app.post('/api/login', (req, res, next) => {
  const { user } = req.body ?? {};
  if (typeof user !== 'string' || user === '') {
    res.status(400).json({ error: 'send {"user": "<name>"}' });
    return;
  }
  // A new id at login: whoever knew the old one is not logged in.
  req.session.regenerate((error) => {
    if (error) {
      next(error);
      return;
    }
    req.session.user = user;
    req.session.views = 0;
    res.json({ user, server: NAME });
  });
});

app.get('/api/session', (req, res) => {
  if (req.session.user !== undefined) req.session.views += 1;
  res.json({
    server: NAME,
    user: req.session.user ?? null,
    views: req.session.views ?? 0,
    client: req.ip,
    // Set by the Caddyfile: hit, new or moved. `moved` with sessions in memory means a login is lost.
    affinity: req.get('x-affinity') ?? null,
    cookies: Object.keys(req.cookies).sort(),
  });
});

const server = app.listen(Number(PORT), '127.0.0.1', (error) => {
  if (error) throw error;
  console.log(`${NAME} listens on ${server.address().port}`);
});
// Longer than the balancer keeps an idle connection, so that it is never this side that closes one in use.
server.keepAliveTimeout = 150_000;

async function openPool(url) {
  const clients = createClientPool({ url }, { minimum: 1, maximum: 4 });
  clients.on('error', (error) => console.error(`redis: ${error.message}`));
  await clients.connect();
  return clients;
}
