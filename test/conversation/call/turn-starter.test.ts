/** The beginnings of a call's turns (contract 18). */
import t from 'tap';
import { nobody } from '../../../src/actors/cause.ts';
import { Inspector } from '../../../src/actors/inspector.ts';
import { Failure } from '../../../src/base/errors.ts';
import { LinkRefused } from '../../../src/host/visitors.ts';
import { Replies } from '../../../src/host/replies.ts';
import { StoreUnavailable } from '../../../src/store/store.ts';
import type { Words } from '../../../src/providers/voice/pending-transcript.ts';
import { TurnFinisher } from '../../../src/conversation/call/turn-finisher.ts';
import { TurnStarter, type TurnStarterOptions } from '../../../src/conversation/call/turn-starter.ts';

t.test('the words of a turn that was taken back before it could begin return to the pending transcript', async (t) => {
  const kept: unknown[] = [];
  const words = { text: 'Hello', fromMs: 0, toMs: 500 };
  let step: () => unknown = () => {};
  const reply = {
    isOpen: true,
    words: null as unknown,
    takeWords: (taken: unknown) => (reply.words = taken),
    giveWords: () => reply.words,
  };
  const speech = { take: () => words, putBack: (back: unknown) => void kept.push(back) };
  const finisher = { returned: 0, owesWords: false, step: (act: () => unknown) => (step = act) };
  const starter = new TurnStarter({
    speech,
    finisher,
    newReply: () => reply,
    port: { send: () => t.fail('nothing is sent') },
  } as unknown as TurnStarterOptions);
  starter.begin(null);
  reply.isOpen = false;
  await step();
  t.same(kept, [words]);
});

/** A starter whose requests for a turn the test refuses, with what the call's machine gets. */
function refusing() {
  const words: Words = { text: 'Hello', fromMs: 0, toMs: 500 };
  const requests: ((error: Error) => void)[] = [];
  const sent: string[] = [];
  const actor = new Replies(new Inspector()).open({
    ...{ id: 'call_a.1', workspaceId: 'wks_a', cause: nobody, greeting: false, early: true },
  });
  const reply = {
    asked: '',
    words: null as Words | null,
    typed: null,
    takeWords: (taken: Words) => (reply.words = taken),
    giveWords: () => [reply.words, (reply.words = null)][0],
    send: (event: object) => actor.send({ ...event, at: 0 } as never),
    isOpen: true,
    get context() {
      return actor.context;
    },
  };
  const host = { sessions: { of: () => new Promise((_, reject) => requests.push(reject)) } };
  const port = {
    ...{ now: 0, principal: { channel: 'api', id: 'key_a' }, session: { id: 'ses_a' }, span: null, requestId: 'req_a' },
    services: { draining: false, host, metrics: { limited: { inc: () => {} } } },
    send: ({ type }: { type: string }) => void sent.push(type),
    broke: (error: unknown) => t.fail(String(error)),
  };
  const speech = { take: () => words, putBack: () => void sent.push('put back') };
  const finisher = new TurnFinisher({ port, speech, ended: () => {} } as never);
  const starter = new TurnStarter({
    ...{ speech, finisher, port, newReply: () => reply },
    refused: (_: unknown, code: string) => void sent.push(`refused ${code}`),
  } as unknown as TurnStarterOptions);
  return { starter, reply, words, requests, sent };
}

t.test(
  'a turn that is refused while it is asked for early is asked for again once the person has finished',
  async (t) => {
    const pass = () => new Promise(setImmediate);
    for (const [error, outcomes] of [
      [new Failure('rate_limited'), ['full']],
      [new LinkRefused(['messages_per_address_per_hour'], 60), ['refused rate_limited']],
      [new StoreUnavailable('The store is away.'), ['put back', 'refused api_error']],
    ] as const) {
      const { starter, reply, words, requests, sent } = refusing();
      starter.begin(words);
      await pass();
      starter.announce(reply as never);
      requests[0]!(error);
      await pass();
      t.same(sent, [], 'the early request decides nothing');
      t.equal(requests.length, 2, 'and is repeated');
      requests[1]!(error);
      await pass();
      t.same(sent, outcomes);
    }
  },
);
