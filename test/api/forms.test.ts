/**
 * Every form of a provider's answer as a client sees it, with a second turn on the same session: no answer spoils what
 * comes after it.
 */
import t, { type Test } from 'tap';
import { bytesOf, forms, type Form } from '../providers/model/forms.ts';
import { raw, type Arrival } from '../providers/client/raw.ts';
import { openHouse, openWorkspace, textOf, type House } from './house.ts';
import { begin, credentialOf, onProvider, refused, say, sayInVain, transcriptOf } from './talk.ts';
import { data, delta, done, eventStream } from '../providers/model/provider.ts';

const unavailable = { code: 'assistant_unavailable', message: 'The assistant cannot answer at the moment.' };
/** The ten turns that a workspace may have in flight. */
const atATime = 8;

/** The conversation that a request carries. */
/** Messages of a request; the parts of a content are joined. */
const sentIn = ({ text }: Arrival): { role: string; content: string }[] =>
  JSON.parse(text.slice(text.indexOf('\r\n\r\n'))).messages.map(({ role, content }: any) => ({
    role,
    content: typeof content === 'string' ? content : content.map((part: any) => part.text).join(''),
  }));

t.test('answers of each form are read alike', async (t) => {
  const house = await openWorkspace();
  const server = await raw(t, (arrival) => {
    const said = sentIn(arrival).at(-1)!.content;
    const form =
      forms.get(said) ??
      forms.get(`${arrival.text.includes('/messages HTTP') ? 'anthropic' : 'openai'}: the usual stream`)!;
    arrival.socket.write(bytesOf(form), () => form.then === 'cut' && arrival.socket.end());
  });
  const assistants = new Map<string, any>();
  for (const kind of ['openai', 'anthropic'] as const) {
    const credential = await credentialOf(house, kind, server.baseUrl);
    for (const reasoning of ['hidden', 'shown']) {
      const model = {
        provider: kind,
        name: 'm',
        credential_id: credential.id,
        ...(reasoning === 'shown' && { reasoning }),
      };
      assistants.set(`${kind} ${reasoning}`, await house.assistant({ model }));
    }
  }
  const rows: string[] = [];
  const waiting = [...forms];
  const next = async (): Promise<void> => {
    for (let row = waiting.shift(); row !== undefined; row = waiting.shift()) {
      const [name, form] = row;
      const assistant = assistants.get(`${form.kind} ${form.reasoning ?? 'hidden'}`);
      rows.push(`${name} → ${await seen(t, house, assistant.id, name, form)}`);
      const history = server.arrivals.map(sentIn).find((messages) => messages.at(-1)!.content.endsWith(after(name)))!;
      const answers = form.said.trim() === '' ? [] : [form.said];
      t.same(
        history.filter(({ role }) => role === 'assistant').map(({ content }) => content),
        answers,
        `${name}: what is sent back`,
      );
    }
  };
  await Promise.all(Array.from({ length: atATime }, next));
  for (const row of rows.sort()) t.comment(row);
});

/** The message behind the one that a form answers. */
const after = (name: string): string => `after ${name}`;

/** The client's view, in words. */
async function seen(t: Test, house: House, assistantId: string, name: string, { said, ending }: Form): Promise<string> {
  const { id } = await house.session(assistantId);
  let sight = `200, ${JSON.stringify(said)}, then `;
  if (ending !== 'end' && said === '') {
    refused(t, await sayInVain(house, id, name), 503, 'assistant_unavailable');
    t.same(await transcriptOf(house, id), [], `${name}: nothing is left`);
    sight = '503 assistant_unavailable';
  } else {
    const events = await (await say(house, id, name)).rest();
    const last = events.at(-1)!;
    t.equal(textOf(events), said, name);
    t.equal(last.event, ending === 'end' ? 'turn.completed' : 'error', name);
    if (ending !== 'end') t.same(last.data, unavailable, name);
    t.match(
      await transcriptOf(house, id),
      [{ content: name }, { content: said, status: ending === 'end' ? 'completed' : 'partial' }],
      name,
    );
    sight += ending === 'end' ? last.event : `error ${last.data.code}`;
  }
  const again = await (await say(house, id, after(name))).rest();
  t.same([textOf(again), again.at(-1)!.event], ['Hello', 'turn.completed'], `${name}: the next turn`);
  return sight;
}

t.test('a silent provider fails the turn in time', async (t) => {
  const house = await openHouse(t, {
    env: { PARLEY_ALLOW_PRIVATE_PROVIDERS: '1', PARLEY_PROVIDER_SILENCE_MS: '2000' },
  });
  const { provider, assistant } = await onProvider(t, house, (response) => {
    response.writeHead(200, eventStream);
    const signs = [
      ': wait\n\n',
      'event: ping\ndata: ping\n\n',
      data({ choices: [{ delta: { reasoning_content: 'hm' } }] }),
    ];
    let told = 0;
    const timer = setInterval(() => {
      response.write(signs[told++ % signs.length]);
      if (told < 100) return;
      clearInterval(timer);
      response.end(delta('Hello', 'stop') + done);
    }, 40);
    t.teardown(() => clearInterval(timer));
  });
  const { id, stream } = await begin(house, assistant.id);
  t.equal(textOf(await stream.rest()), 'Hello', 'reasoning for longer than that is none');
  provider.answer = (response) => response.writeHead(200, eventStream).flushHeaders();
  refused(t, await sayInVain(house, id), 503, 'assistant_unavailable');
});
