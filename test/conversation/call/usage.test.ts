/** The seconds of audio of a call, counted while it lasts (contract 8 and 18). */
import t from 'tap';
import { callKind, type CallEvent, type CallOutcome } from '../../../machines/call.ts';
import { nobody } from '../../../src/actors/cause.ts';
import { Inspector } from '../../../src/actors/inspector.ts';
import type { Socket, SocketListener } from '../../../src/base/edge.ts';
import { limits } from '../../../src/base/limits.ts';
import { CallSocket } from '../../../src/conversation/call/socket.ts';
import { settingsOf } from '../../../src/conversation/call/settings.ts';
import { RealtimeSocket } from '../../../src/conversation/realtime/socket.ts';
import { SocketActor } from '../../../src/host/sockets.ts';
import { ManualClock } from '../../providers/model/provider.ts';

const socket: Socket = { bufferedBytes: 0, send: () => true, close: () => {} };

/** An open call whose ear hears nothing, and the seconds counted for it. */
function opened(
  kind: 'call' | 'realtime',
  channel: 'api' | 'console' = 'api',
  gone = { session: false, workspace: false },
) {
  const clock = new ManualClock();
  const counted: number[] = [];
  const ears = { opened: 0 };
  const ear = { push: () => {}, backlogMs: 0, positionMs: 0, busy: false, deafen: () => {}, close: () => {} };
  const session = { workspaceId: 'wks_a', id: 'ses_a', expiresAt: 1e12, messageCount: 0 };
  const services = {
    ...{
      clock,
      ids: { secret: () => 'id' },
      log: { warn: () => {}, error: () => {} },
      draining: false,
      voice: { turnDetector: () => (ears.opened++, ear) },
    },
    store: {
      leaseMs: null,
      usage: { count: async (step: { transcriptionSeconds: number }) => void counted.push(step.transcriptionSeconds) },
    },
    host: {
      turns: { population: { onBegun: () => () => {} } },
      sessions: {
        population: { find: () => undefined },
        of: async () => null,
        read: async () => (gone.session ? null : { machine: { state: 'open', context: {} } }),
      },
      workspaces: { of: async () => (gone.workspace ? null : {}) },
    },
  };
  const facts = {
    id: 'call_a',
    workspaceId: 'wks_a',
    tokenUntilMs: clock.now() + 60_000,
    expiresAt: session.expiresAt,
    cause: nobody,
  };
  const options = {
    ...{
      actor: new SocketActor<CallEvent, CallOutcome>(callKind, facts, new Inspector(), () => {}),
      session: session as never,
      requestId: 'req_a',
      span: null,
      services: services as never,
    },
    ...{
      principal: { channel, workspaceId: 'wks_a' } as never,
      assistant: {
        record: { workspaceId: 'wks_a', id: 'asst_a' },
      } as never,
      answering: { greeting: null, model: { systemPrompt: null } } as never,
      ready: { provider: { partials: true }, settings: {} } as never,
    },
  };
  const listener: SocketListener =
    kind === 'call'
      ? new CallSocket(options, settingsOf({}))
      : new RealtimeSocket({ ...options, isBeta: false, model: 'asst_a' });
  listener.opened(socket);
  return { clock, listener, counted, ears };
}

const second = {
  call: new Uint8Array(32_000),
  realtime: JSON.stringify({ type: 'input_audio_buffer.append', audio: Buffer.alloc(48_000).toString('base64') }),
};

for (const kind of ['call', 'realtime'] as const) {
  t.test(`${kind}: audio that comes behind a fault opens no ear that nobody closes`, async (t) => {
    const { listener, ears } = opened(kind);
    listener.tooFast!();
    listener.message(second[kind]);
    listener.closed(1006);
    t.equal(ears.opened, 0);
  });

  t.test(`${kind}: a call is counted every minute, and no second twice`, async (t) => {
    const { clock, listener, counted } = opened(kind);
    const minutes = 4;
    for (let at = 0; at < minutes * 60; at++) {
      listener.message(second[kind]);
      for (let looks = 0; looks < 1_000 / limits.socketPollMs; looks++) clock.advance(limits.socketPollMs);
    }
    t.equal(counted.length, minutes, 'a process that dies loses less than two minutes');
    listener.closed(1000);
    t.equal(
      counted.reduce((sum, seconds) => sum + seconds, 0),
      minutes * 60,
    );
  });
}

t.test('usage excludes trials of the console', async (t) => {
  const { clock, listener, counted } = opened('call', 'console');
  listener.message(second.call);
  clock.advance(limits.socketUsageMs);
  listener.closed(1000);
  t.same(counted, []);
});

t.test('a call whose workspace was removed leaves no usage behind; one whose session was removed does', async (t) => {
  for (const kind of ['call', 'realtime'] as const) {
    for (const workspace of [true, false]) {
      const gone = { session: false, workspace: false };
      const { clock, listener, counted } = opened(kind, 'api', gone);
      listener.message(second[kind]);
      Object.assign(gone, { session: true, workspace });
      for (let looks = 0; looks < 3; looks++) {
        clock.advance(limits.socketPollMs);
        await new Promise((resolve) => setImmediate(resolve));
      }
      listener.closed(1000);
      t.same(counted, workspace ? [] : [1], `${kind}, ${workspace ? 'workspace' : 'session'}`);
    }
  }
});
