/** The global `log`: where the log of the balancer goes, and access lines without a log of their own. */
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { runHoldfast } from '../cli/spawn.ts';
import { eventually } from '../support/backend.ts';
import { get } from '../support/raw-client.ts';
import { startRun } from '../support/run-process.ts';

function logging(log: string): string {
  return `{\n\tadmin 127.0.0.1:0\n${log}\n}\nhttp://:0 {\n\tbind 127.0.0.1\n\tlog\n\trespond ok\n}\n`;
}

test(
  'the global log moves to a file and back by reload, with the lines of requests',
  { timeout: 60_000 },
  async (t) => {
    const running = await startRun(t, logging(''));
    const file = join(running.folder, 'own.log');
    const text = (): Promise<string> => readFile(file, 'utf8').catch(() => '');
    const reload = async (log: string): Promise<void> => {
      await running.rewrite(logging(log));
      const { code, stderr } = await runHoldfast(['reload', '--config', 'Caddyfile', '--address', running.admin], {
        cwd: running.folder,
      });
      assert.equal(code, 0, stderr);
    };
    await reload('\tlog {\n\t\toutput file own.log\n\t\tformat console\n\t}');
    await get(running.port, '/filed');
    await eventually(async () => (await text()).includes('/filed'), 'an access line in the file');
    assert.doesNotMatch(running.stderr(), /\/filed/);
    // The last line of this config: that the next one is in force.
    await reload('\tlog {\n\t\tformat json\n\t}');
    assert.match(await text(), /^\d{4}-\S+Z\tINFO\tgeneration 3 is in force/m);
    await get(running.port, '/back');
    await eventually(() => running.stderr().includes('/back'), 'an access line on stderr');
    assert.doesNotMatch(await text(), /\/back/);
  },
);
