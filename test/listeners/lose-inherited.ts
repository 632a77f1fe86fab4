/** Run with a listening socket as descriptor 3: loses it with the thread that has it, and tells what became of it. */
import { Listeners } from '../../src/control-plane/listeners/listeners.ts';
import type { ServerTaker } from '../../src/control-plane/listeners/listener.ts';
import { Lobby } from '../../src/control-plane/listeners/lobby.ts';
import { systemClock } from '../../src/shared/clock.ts';
import { loggerTo } from '../../src/shared/log.ts';

const logged: string[] = [];
const log = loggerTo((level, message) => logged.push(`${level}: ${message}`));

/** A thread that ends without giving anything back. */
const thread: ServerTaker = {
  takeServer: (_key, server) => void server.close(),
  giveBack: () => Promise.reject(new Error('it has ended')),
};

const listeners = new Listeners({
  positions: 1,
  reusePort: true,
  lobby: new Lobby(() => null, log),
  clock: systemClock,
  log,
  holderOf: () => thread,
});

const spec = { key: 'fd/3', host: '', port: 0, accept: 'shared', fd: 3, place: 'Caddyfile:1' } as const;
const change = await listeners.stage([spec]);
await listeners.open(change);
listeners.commit(change);
const before = listeners.lost();
await listeners.restore(thread);
await listeners.restore(thread);
process.stdout.write(JSON.stringify({ before, lost: listeners.lost(), logged }));
