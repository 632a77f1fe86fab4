/**
 * The differential test of the HTTP/1 codec for as long as you like:
 *   node test/fuzz/http1.ts [60s | 5000000] [seed]     seconds or cases (default 60s), seed (default: random, printed)
 *   node test/fuzz/http1.ts '<case as JSON>'           one case again
 * Ends with 1 at the first difference.
 */
import { seededRandom } from '../../src/shared/random.ts';
import { compare } from '../http1/compare.ts';
import { Generator } from '../http1/generator.ts';
import { NodeReader } from '../http1/node-reader.ts';
import type { Case } from '../http1/reading.ts';

const BATCH = 1000;

const [budget = '60s', seedText] = process.argv.slice(2);
const node = new NodeReader();

/** False, and a report, when the two readers differ. */
function check(testCase: Case): boolean {
  const { difference } = compare(testCase, node);
  if (difference === '') return true;
  console.error(`${difference}\n${JSON.stringify(testCase)}`);
  process.exitCode = 1;
  return false;
}

function run(): void {
  const seed = seedText === undefined ? Math.floor(Math.random() * 2 ** 32) : Number(seedText);
  console.log(`seed ${seed}`);
  const maxCases = budget.endsWith('s') ? Infinity : Number(budget);
  const deadline = budget.endsWith('s') ? Date.now() + Number(budget.slice(0, -1)) * 1000 : Infinity;
  const generator = new Generator(seededRandom(seed));
  let count = 0;
  while (count < maxCases && (count % BATCH !== 0 || Date.now() < deadline)) {
    if (!check(generator.next())) break;
    count += 1;
  }
  console.log(`${count} cases`);
}

if (budget.startsWith('{')) check(JSON.parse(budget));
else run();
