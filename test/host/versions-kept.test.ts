/** The versions of assistants that a process keeps in memory (contract 20). */
import t from 'tap';
import { Versions } from '../../src/host/versions.ts';
import type { Assistant, Catalog } from '../../src/store/store.ts';
import * as records from '../store/fixtures.ts';

const assistantOf = (current: number, fields: Partial<Assistant> = {}): Assistant =>
  records.assistant('wks_1', {
    id: 'asst_1',
    release: { current, newest: current, digest: `digest-${current}`, earlier: [] },
    ...fields,
  });

/** Versions of the assistant, each with a prompt of so many characters, and the ids of those that were read. */
function versionsOf(characters: number): { versions: Versions; read: string[] } {
  const read: string[] = [];
  const catalog = {
    read: async (_kind: string, _workspaceId: string, id: string) => {
      read.push(id);
      const model = { ...assistantOf(1).model, systemPrompt: 'x'.repeat(characters) };
      return { record: records.assistantVersion(assistantOf(1, { model }), Number(id.split('_').at(-1))), version: 1 };
    },
  };
  return { versions: new Versions(catalog as unknown as Catalog), read };
}

for (const [what, characters, count] of [
  ['many', 10, 1001],
  ['long', 100_000, 400],
] as const)
  t.test(`${what} versions are kept up to a bound, the newest of them`, async (t) => {
    const { versions, read } = versionsOf(characters);
    for (let number = 1; number <= count; number++)
      t.equal((await versions.current(assistantOf(number))).version!.number, number);
    await versions.current(assistantOf(count));
    t.equal(read.length, count, 'the newest is not read again');
    await versions.current(assistantOf(1));
    t.equal(read.length, count + 1, 'the oldest is');
  });

t.test('a version answers each change of the assistant without a read of its own', async (t) => {
  const { versions, read } = versionsOf(100_000);
  for (let change = 0; change < 1000; change++) await versions.current(assistantOf(1, { name: `Ada ${change}` }));
  t.equal(read.length, 1);
});

t.test('callers during one read each get the assistant as they know it', async (t) => {
  const { versions, read } = versionsOf(10);
  const names = await Promise.all(
    ['Ada', 'Bob'].map(async (name) => (await versions.current(assistantOf(1, { name }))).name),
  );
  t.same([names, read.length], [['Ada', 'Bob'], 1]);
});

t.test('a number that a failover has lost is read again where another version has it', async (t) => {
  const { versions, read } = versionsOf(10);
  const rolled = (digest: string): Assistant => {
    const candidate = { version: 2, digest, percent: 100, halt: null, isHalted: false, since: 2 };
    return assistantOf(1, { release: { current: 1, newest: 2, digest: 'digest-1', earlier: [], candidate } });
  };
  const ask = async (record: Assistant): Promise<number> => {
    await versions.ofNew(record, 'ses_1');
    return read.length;
  };
  const before = rolled('digest-2');
  t.same([await ask(before), await ask(before), await ask(rolled('digest-2'))], [1, 1, 1]);
  t.equal(await ask(rolled('digest of another')), 2, 'a candidate');
  t.equal((await versions.current(assistantOf(2))).version!.number, 2);
  t.equal(read.length, 2, 'which became the current one');
});
