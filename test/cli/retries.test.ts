/** What the client of conversations sends again, and how often (specification 7, "Retrying"; contract 10). */
import t, { type Test } from 'tap';
import { Conversation } from '../../src/cli/conversation.ts';
import { limits } from '../../src/limits.ts';
import { ManualClock } from '../model/provider.ts';
import { fail, fakeServer, type Route } from './support.ts';

const fault: Route = (_request, response) => fail(response, 500, 'api_error', 'api_error', 'Something went wrong on our side.');
const away: Route = (_request, response) => fail(response, 503, 'service_unavailable', 'api_error', 'The service is temporarily unavailable.');
const paths = { session: 'GET /sessions/ses_1', abort: 'POST /sessions/ses_1/turns/turn_1/abort', events: 'GET /sessions/ses_1/turns/turn_1/events', create: 'POST /sessions', chat: 'POST /sessions/ses_1/chat' };
const started: Route = (_request, response) => {
  response.writeHead(200, { 'content-type': 'text/event-stream', 'x-turn-id': 'turn_1' });
  response.write('event: message.delta\nid: 1\ndata: {"text":"a"}\n\n', () => response.destroy());
};

/** Does it with waits that are over at once; how often the path was asked for. */
async function tries(t: Test, path: string, routes: Record<string, Route>, act: (talk: Conversation) => Promise<unknown>): Promise<number> {
  const server = await fakeServer(t, routes);
  const clock = new ManualClock();
  const talk = new Conversation(server.url, 'ak_1', clock, (_failure, left) => left > 0 && setImmediate(() => clock.advance(limits.commandBackoffMsMax)));
  await t.rejects(act(talk), { code: /./ });
  return server.lines().filter((line) => line === path).length;
}

const { signal } = new AbortController();
const listener = { started: () => {}, event: () => {} };

t.test('a fault of the server, up to three attempts of what may be done twice', async (t) => {
  t.equal(await tries(t, paths.session, { [paths.session]: fault }, (talk) => talk.session('ses_1')), 3);
  t.equal(await tries(t, paths.abort, { [paths.abort]: fault }, (talk) => talk.abort('ses_1', 'turn_1', signal)), 3);
  t.equal(await tries(t, paths.abort, { [paths.abort]: away }, (talk) => talk.abort('ses_1', 'turn_1', signal)), 3);
  const cut = { [paths.chat]: started, [paths.events]: fault };
  t.equal(await tries(t, paths.events, cut, (talk) => talk.chat('ses_1', 'Hi', listener, signal)), 3, 'also where a cut stream is wanted back');
});

t.test('three attempts are of faults alone: what is away in between is another matter', async (t) => {
  let asked = 0;
  const mixed: Route = (...given) => [away, away, fault, away, fault, fault][asked++]!(...given);
  const cut = { [paths.chat]: started, [paths.events]: mixed };
  t.equal(await tries(t, paths.events, cut, (talk) => talk.chat('ses_1', 'Hi', listener, signal)), 6);
  t.equal(await tries(t, paths.events, { [paths.chat]: started, [paths.events]: away }, (talk) => talk.chat('ses_1', 'Hi', listener, signal)), limits.commandResumesMax);
});

t.test('what begins a session or a turn once it was answered is not sent again', async (t) => {
  for (const route of [fault, away]) {
    t.equal(await tries(t, paths.create, { [paths.create]: route }, (talk) => talk.createSession('asst_1', {})), 1);
    t.equal(await tries(t, paths.chat, { [paths.chat]: route }, (talk) => talk.chat('ses_1', 'Hi', listener, signal)), 1);
  }
});

t.test('nor is what the assistant cannot do, and what no patience betters', async (t) => {
  const unavailable: Route = (_request, response) => fail(response, 503, 'service_unavailable', 'assistant_unavailable', 'The assistant cannot answer at the moment.');
  const gone: Route = (_request, response) => fail(response, 404, 'not_found', 'session_not_found', 'No such session.');
  for (const route of [unavailable, gone]) t.equal(await tries(t, paths.session, { [paths.session]: route }, (talk) => talk.session('ses_1')), 1);
});
