import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { firstVerdict, judge, type Outcome, type Verdict, type VerdictState } from './verdict.ts';

const up: VerdictState = { verdict: 'up', passes: 0, fails: 0 };

/** Verdicts after each letter: P pass, F fail, N neutral. */
function run(start: VerdictState, letters: string, rise: number, fall: number): Verdict[] {
  const outcomes: Record<string, Outcome> = { P: 'pass', F: 'fail', N: 'neutral' };
  let state = start;
  return [...letters].map((letter) => (state = judge(state, outcomes[letter]!, { rise, fall })).verdict);
}

test('alternating results never take a server down when three failures in a row are needed', () => {
  assert.ok(run(up, 'FPFPFPFPFPFP', 2, 3).every((verdict) => verdict === 'up'));
});

test('down after the third failure in a row, up only after two passes in a row', () => {
  assert.deepEqual(run(up, 'FFFPFPP', 2, 3), ['up', 'up', 'down', 'down', 'down', 'down', 'up']);
});

test('a neutral result neither counts nor interrupts a row', () => {
  assert.deepEqual(run(up, 'FNFNNF', 1, 3), ['up', 'up', 'up', 'up', 'up', 'down']);
});

test('one result leaves initial, whatever the thresholds', () => {
  const initial: VerdictState = { verdict: 'initial', passes: 0, fails: 0 };
  assert.deepEqual(run(initial, 'NP', 5, 5), ['initial', 'up']);
  assert.deepEqual(run(initial, 'F', 5, 5), ['down']);
});

test('servers begin up at process start, initial when added later, and as configured otherwise', () => {
  const begin = { configured: null, processStart: false, inService: false };
  assert.equal(firstVerdict({ ...begin, processStart: true }).verdict, 'up');
  assert.equal(firstVerdict(begin).verdict, 'initial');
  assert.equal(firstVerdict({ ...begin, inService: true }).verdict, 'up');
  assert.equal(firstVerdict({ ...begin, processStart: true, configured: 'down' }).verdict, 'down');
  assert.equal(firstVerdict({ ...begin, configured: 'up' }).verdict, 'up');
});

test('a verdict flips exactly when the row of equal results is long enough', () => {
  const outcome = fc.constantFrom<Outcome>('pass', 'fail', 'neutral');
  const threshold = fc.integer({ min: 1, max: 5 });
  fc.assert(
    fc.property(fc.array(outcome, { maxLength: 60 }), threshold, threshold, (outcomes, rise, fall) => {
      let state = up;
      outcomes.forEach((current, at) => {
        const before = state.verdict;
        state = judge(state, current, { rise, fall });
        // The definition, told the long way: look back over what counts.
        const counted = outcomes.slice(0, at + 1).filter((one) => one !== 'neutral');
        const last = (count: number): Outcome[] => counted.slice(-count);
        const all = (count: number, wanted: Outcome): boolean =>
          last(count).length === count && last(count).every((one) => one === wanted);
        const expected = all(fall, 'fail') ? 'down' : all(rise, 'pass') ? 'up' : before;
        assert.equal(state.verdict, expected);
      });
    }),
  );
});
