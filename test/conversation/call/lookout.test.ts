/** How a call looks after its session (contract 18). */
import t from 'tap';
import { limits } from '../../../src/base/limits.ts';
import { Lookout, type LookoutOptions } from '../../../src/conversation/call/lookout.ts';
import { ManualClock } from '../../providers/model/provider.ts';

t.test('a call that was taken for dead says again that it is open', async (t) => {
  const clock = new ManualClock();
  const noted: unknown[] = [];
  const record = {
    machine: { state: 'open', context: { activeTurnId: null } },
    call: { id: 'call_1', untilMs: clock.now() + limits.callOpenMs } as object | undefined,
  };
  const sessions = {
    population: { find: () => undefined },
    read: async () => record,
    of: async () => ({ record }),
    noteCall: async (_: unknown, id: string) => void noted.push(id),
  };
  const host = { sessions, turns: { population: { onBegun: () => () => {} } } };
  const options = {
    now: () => clock.now(),
    services: { clock, host, store: { leaseMs: limits.leaseMs } },
    session: { id: 'ses_1', workspaceId: 'wks_1' },
    callId: 'call_1',
    send: () => {},
    isBusy: () => false,
    said: () => {},
  };
  const lookout = new Lookout(options as unknown as LookoutOptions);
  const look = async (): Promise<void> => {
    clock.advance(limits.catalogFreshMs);
    await lookout.look();
  };
  await look();
  t.same(noted, []);
  record.call = undefined;
  await look();
  t.same(noted, ['call_1']);
  lookout.close();
});
