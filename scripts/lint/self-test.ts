/** Shows that each rule of our own can fail: lints one offending file a rule and expects its complaint. */
import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

interface Offence {
  readonly file: string;
  readonly text: string;
  readonly complaint: string;
}

const OFFENCES: readonly Offence[] = [
  {
    file: 'src/shared/a.ts',
    text: "export { x } from '../control-plane/x.ts';\n",
    complaint: 'shared must not import control-plane',
  },
  {
    file: 'src/control-plane/b.ts',
    text: "import { run } from '../data-plane/proxy/exchange.ts';\nrun();\n",
    complaint: 'control-plane must not import data-plane',
  },
  { file: 'src/shared/c.ts', text: 'export const seen = new Map<string, number>();\n', complaint: 'a mutable Map' },
  { file: 'src/shared/d.ts', text: 'export let count = 0;\ncount += 1;\n', complaint: "'let' at module level" },
  {
    file: 'src/data-plane/http1/e.ts',
    text: 'export const at = (): number => Date.now();\n',
    complaint: 'time is an argument',
  },
  {
    file: 'src/data-plane/proxy/f.ts',
    text: "import { createServer } from 'node:http';\ncreateServer();\n",
    complaint: "'node:http' has no place in the data path",
  },
];

const root = fileURLToPath(new URL('../..', import.meta.url));
const folder = mkdtempSync(join(tmpdir(), 'holdfast-lint-'));
let failures = 0;
for (const { file, text, complaint } of OFFENCES) {
  const path = join(folder, file);
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, text);
  const { stdout } = spawnSync('oxlint', ['-c', join(root, '.oxlintrc.json'), '-f', 'unix', path], {
    encoding: 'utf8',
  });
  if (stdout.includes(complaint)) continue;
  failures += 1;
  console.error(`the lint rules let ${file} pass; expected: ${complaint}\n${stdout}`);
}
rmSync(folder, { recursive: true });
if (failures > 0) process.exitCode = 1;
else console.log(`lint rules: ${OFFENCES.length} offences, ${OFFENCES.length} complaints`);
