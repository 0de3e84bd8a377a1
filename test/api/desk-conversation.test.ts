/**
 * A conversation with the desk as its parties see it, printed as docs/desk.md has it: asking, waiting, joining, three
 * messages, the return and the next request to the model. `PARLEY_WRITE=1` writes it into the page.
 */
import { readFile, writeFile } from 'node:fs/promises';
import t from 'tap';
import { openWorkspace, type Answer, type House } from './house.ts';
import { cookieFor, linkFor, withCookie } from './signing.ts';
import { answered, end, onProvider, say } from './talk.ts';

const page = new URL('../../docs/desk.md', import.meta.url);
const place = /(## A conversation, printed\n[\s\S]*?```text\n)([\s\S]*?)(```)/;

const desk = {
  enabled: true,
  texts: { waiting: 'A colleague will be with you soon.', joined: '{{person.name}} has joined.', left: null },
};

const actOf =
  (house: House, id: string, cookie: string) =>
  (verb: string, body?: object): Promise<Answer> =>
    withCookie(house, cookie, `/workspaces/${house.workspaceId}/sessions/${id}/${verb}`, {
      method: 'POST',
      ...(body && { body }),
    });

/** The stream of the session, an event a line. */
const lineOf = ({ id, event, data }: any): string => {
  const text = `${String(id).padStart(4)} ${event.padEnd(18)}`;
  if (event === 'message.created') return `${text} ${data.by?.name ?? data.role}: ${data.content}`;
  if (event !== 'attendance.changed') return `${text} ${data.status ?? ''}`.trimEnd();
  const { state, person } = data.attendance;
  return `${text} ${state}${person === null ? '' : ` (${person.name})`}`;
};

t.test('the printed conversation of docs/desk.md is what the server does', async (t) => {
  const house = await openWorkspace();
  const requests: any[] = [];
  const { assistant } = await onProvider(
    t,
    house,
    (response, request: any) => {
      requests.push(request.body.messages);
      answered(response, [requests.length === 1 ? 'I can look that up.' : 'You are welcome. Anything else?']);
    },
    { desk, model: { system_prompt: 'You help customers.' } },
  );
  const { id } = await house.session(assistant.id);
  const act = actOf(house, id, await cookieFor(house, await linkFor(house, 'Anna')));
  const lines: string[] = [];
  const step = (who: string, what: string, answer: string): unknown =>
    lines.push(`${who.padEnd(8)} ${what.padEnd(42)} ${answer}`.trimEnd());
  const visitor = async (text: string): Promise<void> => {
    const names = (await (await say(house, id, text)).rest()).map(({ event }) => event);
    step('visitor', `"${text}"`, names.filter((name) => name !== 'message.delta').join(', '));
  };
  const stateOf = ({ status, json }: Answer): string => `${status} ${json.attendance.state}`;
  await visitor('Where is my parcel?');
  step('visitor', 'POST /sessions/{id}/ask', stateOf(await house.ask(`/sessions/${id}/ask`, { method: 'POST' })));
  step('person', 'POST …/sessions/{id}/take', stateOf(await act('take')));
  await visitor('It is number 4711.');
  const said = await act('messages', { text: 'It arrives tomorrow.' });
  step('person', `"${said.json.content}"`, `${said.status} by ${said.json.by.name}`);
  await visitor('Thank you!');
  step('person', 'POST …/sessions/{id}/return', stateOf(await act('return')));
  await visitor('That was all I needed.');
  await end(house, id);
  lines.push('', 'GET /sessions/{id}/events?after=0');
  for (const event of await (await house.stream(`/sessions/${id}/events?after=0`)).rest()) lines.push(lineOf(event));
  lines.push('', 'the request to the model after the return');
  for (const { role, content } of requests.at(-1))
    lines.push(`${role.padStart(12)}: ${content.replaceAll('\n\n', `\n${' '.repeat(14)}`)}`);
  const printed = `${lines.join('\n')}\n`;
  const text = await readFile(page, 'utf8');
  if (process.env['PARLEY_WRITE'] === '1')
    await writeFile(
      page,
      text.replace(place, (_, before, __, after) => before + printed + after),
    );
  else t.equal(place.exec(text)?.[2], printed);
});
