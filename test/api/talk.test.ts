/** `until` leaves the CPU to the server that it polls, and ends with a reason. */
import t from 'tap';
import { until } from './talk.ts';

t.test('it ends with the first answer', async (t) => {
  const answers = [null, false, undefined, 'there', 'late'] as const;
  let asked = 0;
  t.equal(await until(async () => answers[asked++]), 'there');
  t.equal(asked, 4);
});

t.test('it pauses, and says in the end what was asked and what was answered last', async (t) => {
  let asked = 0;
  await t.rejects(
    until(() => (asked++, false), 0.05),
    { message: /^not within 0\.05 s: the last answer was false to .*asked\+\+/ },
  );
  // A timer of 5 ms may fire a little early, never twice as often.
  t.ok(asked >= 2 && asked <= 25, `asked ${asked} times in 50 ms`);
});
