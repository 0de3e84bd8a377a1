import t from 'tap';
import { Mailbox } from '../../src/actors/mailbox.ts';

t.test('a mailbox runs one job at a time in order, and a failure reaches only its poster', async (t) => {
  const mailbox = new Mailbox();
  const told: string[] = [];
  const gates: (() => void)[] = [];
  const job = (name: string) => async (): Promise<string> => {
    told.push(`${name} begins`);
    await new Promise<void>((resolve) => gates.push(resolve));
    told.push(`${name} ends`);
    if (name === 'b') throw new Error('b failed');
    return name;
  };
  const results = ['a', 'b', 'c'].map((name) => mailbox.post(job(name)));
  results[1]!.catch(() => {});
  t.ok(mailbox.busy);
  for (const result of results) {
    while (gates.length === 0) await null;
    gates.shift()!();
    await result.catch(() => {});
  }
  t.same(told, ['a begins', 'a ends', 'b begins', 'b ends', 'c begins', 'c ends']);
  t.same([await results[0], await results[2]], ['a', 'c']);
  await t.rejects(results[1]!, { message: 'b failed' });
  t.notOk(mailbox.busy);
});
