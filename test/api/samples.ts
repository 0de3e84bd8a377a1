/** The samples of `/metrics` that tests look for. */
import type { Test } from 'tap';

const labelled: Readonly<Record<string, readonly string[]>> = {
  'parley_limited_total{budget': ['requests', 'speech', 'transcription_tokens', 'turns', 'authentication'],
  'parley_turns_total{outcome': ['completed', 'aborted', 'failed', 'withdrawn'],
  'parley_store_errors_total{step': [
    'createSession',
    'saveSession',
    'beginTurn',
    'appendOutput',
    'finishTurn',
    'withdrawTurn',
    'takeOverTurn',
    'sweep',
  ],
};

/** Counters whose labels are known from the start are there before the first event (contract 11). */
export function beginsAtZero(t: Test, text: string): void {
  const expected = Object.entries(labelled).flatMap(([counter, values]) =>
    values.map((value) => `${counter}="${value}"} 0`),
  );
  t.same(
    expected.filter((sample) => !text.includes(`\n${sample}\n`)),
    [],
    'no sample is missing',
  );
}
