/** Polls of a call's session (contract 18). */
import t from 'tap';
import { limits } from '../../../src/base/limits.ts';
import { SessionPoller, type SessionPollerOptions } from '../../../src/conversation/call/session-poller.ts';
import { ManualClock } from '../../providers/model/provider.ts';
import { callOpenMs } from '../../../src/turn/sessions.ts';

t.test('a call whose note was removed notes again that it is open', async (t) => {
  const clock = new ManualClock();
  const noted: unknown[] = [];
  const record = {
    machine: { state: 'open', context: { activeTurnId: null } },
    call: { id: 'call_1', untilMs: clock.now() + callOpenMs } as object | undefined,
  };
  const sessions = {
    population: { find: () => undefined },
    read: async () => record,
    of: async () => ({ record }),
    noteCall: async (_: unknown, id: string) => void noted.push(id),
  };
  const host = { sessions, turns: { population: { onBegun: () => () => {} } } };
  const port = {
    id: 'call_1',
    state: 'listening',
    now: clock.now(),
    services: { clock, host, store: { leaseMs: limits.leaseMs } },
    session: { id: 'ses_1', workspaceId: 'wks_1' },
    send: () => {},
  };
  const poller = new SessionPoller({ port, noted: () => {} } as unknown as SessionPollerOptions);
  const poll = async (): Promise<void> => {
    clock.advance(limits.catalogFreshMs);
    await poller.poll();
  };
  await poll();
  t.same(noted, []);
  record.call = undefined;
  await poll();
  t.same(noted, ['call_1']);
  poller.close();
});
