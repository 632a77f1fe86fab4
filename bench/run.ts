/** `npm run bench -- [part…] [options]`: runs the parts one after the other, all of them when none is named. */
import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';

/** Script and its leading arguments. */
const PARTS: Readonly<Record<string, readonly string[]>> = {
  http: ['e2e/run.ts'],
  tcp: ['e2e/layer4-tcp.ts'],
  udp: ['e2e/layer4-udp.ts'],
  https: ['e2e/https.ts', 'https'],
  handshakes: ['e2e/https.ts', 'handshakes'],
  http2: ['e2e/https.ts', 'http2'],
  health: ['health/run.ts'],
};

const words = process.argv.slice(2);
const optionsAt = words.findIndex((word) => word.startsWith('-'));
const named = optionsAt < 0 ? words : words.slice(0, optionsAt);
const options = optionsAt < 0 ? [] : words.slice(optionsAt);
const unknown = named.find((name) => PARTS[name] === undefined);
if (unknown !== undefined) {
  console.error(`'${unknown}' is no part of the benchmarks: ${Object.keys(PARTS).join(', ')}`);
  process.exit(2);
}
for (const name of named.length === 0 ? Object.keys(PARTS) : named) {
  const [script = '', ...leading] = PARTS[name]!;
  const path = fileURLToPath(new URL(script, import.meta.url));
  const { status } = spawnSync(process.execPath, [path, ...leading, ...options], { stdio: 'inherit' });
  if (status !== 0) process.exit(status ?? 1);
}
