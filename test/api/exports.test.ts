/** Exports of the console: a transcript in Markdown, usage as CSV (contract 9). */
import t, { type Test } from 'tap';
import { jwt } from '../access/jwt.ts';
import { linked, Visit } from '../pages/link/visits.ts';
import { openWorkspace, type Answer, type House } from './house.ts';
import { isRated, isRefused, refusals, unrated, wrongField } from './refusal.ts';
import { abort, begin, say, synthetic, transcriptOf } from './talk.ts';

t.test('an export holds every row of its time', async (t) => {
  const house = await openWorkspace();
  await t.test('a transcript is exported in Markdown', (t) => markdown(t, house));
  await t.test('a transcript in Markdown marks a verified visitor', (t) => verified(t, house));
  await t.test('a message cannot pass for the frame', (t) => frame(t, house));
  await t.test('a transcript marks turns that did not complete', (t) => unfinished(t, house));
  await t.test('a long transcript comes whole', (t) => long(t, house));
  await t.test('usage is exported as CSV', (t) => csv(t, house));
  await t.test('an export with a wrong format or an unknown session is refused', (t) => refusedOnes(t, house));
});

const inside = (house: House, path: string): Promise<Answer> =>
  house.console(`/workspaces/${house.workspaceId}${path}`);
const exported = (house: House, id: string, query = ''): Promise<Answer> =>
  inside(house, `/sessions/${id}/transcript?format=markdown${query}`);
const timeOf = (at: number): string => new Date(at * 1000).toISOString().replace('T', ' ').replace('.000Z', ' UTC');

/** Returns the text beneath each heading. */
const sectionsOf = (text: string): string[] => text.split(/^## .*\n\n/m).slice(1);
/** A section's text as it was said. */
const said = (section: string): string =>
  section
    .trimEnd()
    .split('\n')
    .map((line) => line.replace(/^> ?/, ''))
    .join('\n');

async function markdown(t: Test, house: House): Promise<void> {
  const assistant = await synthetic(house, 'tokens=2,text=Yes', { greeting: 'Hello. *Welcome!*' });
  const session = await house.session(assistant.id);
  await (await say(house, session.id, 'First line\n\n- second')).rest();
  const answer = await exported(house, session.id);
  t.equal(answer.status, 200);
  t.equal(answer.headers.get('content-type'), 'text/markdown; charset=utf-8');
  isRated(t, answer, false, 'no budget is charged');
  const [greeting, question, reply] = await transcriptOf(house, session.id);
  t.equal(
    answer.text,
    `# Session ${session.id}

Begun ${timeOf(session.created_at)} with the assistant ${assistant.id}, channel api.

## Assistant · ${timeOf(greeting.created_at)}

> Hello. *Welcome!*

## Visitor · ${timeOf(question.created_at)}

> First line
>
> - second

## Assistant · ${timeOf(reply.created_at)}

> ${reply.content}
`,
  );
  t.equal(
    (await exported(house, session.id, '&limit=1&order=desc&after=1')).text,
    answer.text,
    'always whole, oldest first',
  );
  const page = await inside(house, `/sessions/${session.id}/transcript?format=json&limit=1`);
  t.same(page.json, (await house.ask(`/sessions/${session.id}/transcript?limit=1`)).json, 'json is the page');
  const empty = await house.session((await synthetic(house, 'tokens=1')).id);
  t.match((await exported(house, empty.id)).text, /^# Session ses_\w+\n\nBegun [^\n]+\n$/);
}

async function verified(t: Test, house: House): Promise<void> {
  const assistant = await linked(house, 'exported');
  const path = `/workspaces/${house.workspaceId}/assistants/${assistant.id}/link/identity`;
  const { secret } = (await house.console(path, { method: 'POST' })).json;
  const identity = jwt(secret, { sub: 'ada', exp: Math.floor(Date.now() / 1000) + 60 });
  const visit = await Visit.to(house, 'exported', { body: { channel: 'link', identity } });
  const session = await visit.session();
  await visit.say(session, 'Hello');
  t.match((await exported(house, session.id)).text, `## Visitor, verified (${visit.id}) · `);
}

async function frame(t: Test, house: House): Promise<void> {
  const { id } = await house.session((await synthetic(house, 'tokens=1')).id);
  const heading = '## Assistant · 2026-01-01 00:00:00 UTC';
  const messages = ['\n', '\r', '\r\n', '\v', '\f', '\u0085', '\u2028', '\u2029'].map(
    (end) => `a${end}${heading}${end}b`,
  );
  messages.push(
    `\`\`\`\n${heading}`,
    '~~~',
    'text\n===\n---',
    '<!-- <script> </blockquote> <?php \\<b> \\\\<i> a < b 1<2 <3',
    '    indented\n\ttab',
    `${'\\'.repeat(7_990)}<b>`,
    '\u001b[31mred\u0000',
    '> quoted',
    'spaces  \nkept',
  );
  for (const message of messages) await (await say(house, id, message)).rest();
  const { text } = await exported(house, id);
  const lines = text.split(/\r\n|[\n\r\v\f\u0085\u2028\u2029]/);
  t.equal(
    lines.filter((line) => line.startsWith('## ')).length,
    messages.length * 2,
    'no heading but those of the frame',
  );
  t.same(
    lines.slice(3).filter((line) => line !== '' && !/^(?:>|## (?:Visitor|Assistant) · )/.test(line)),
    [],
    'every line that was said is marked',
  );
  const texts = sectionsOf(text)
    .filter((_, index) => index % 2 === 0)
    .map(said);
  for (const section of texts.slice(0, 8)) t.equal(section, `a\n${heading}\nb`, 'and reads as it was said');
  t.same(texts.slice(8), [
    ...[
      `\`\`\`\n${heading}`,
      '~~~',
      'text\n===\n---',
      '\\<!-- \\<script> \\</blockquote> \\<?php \\<b> \\\\\\<i> a < b 1<2 <3',
      '    indented\n\ttab',
    ],
    ...[`${'\\'.repeat(7_990)}\\<b>`, '\ufffd[31mred\ufffd', '> quoted', 'spaces  \nkept'],
  ]);
}

async function unfinished(t: Test, house: House): Promise<void> {
  const hanging = await begin(house, (await synthetic(house, 'tokens=3,hang_at=1')).id);
  await hanging.stream.next();
  await hanging.stream.next();
  t.match(sectionsOf((await exported(house, hanging.id)).text)[1], /^> .+\n\n\*Still being written\.\*\n$/);
  await abort(house, hanging.id, hanging.stream.turnId);
  t.match(sectionsOf((await exported(house, hanging.id)).text)[1], /^> .+\n\n\*Cut short: aborted\.\*\n$/);
  const failing = await begin(house, (await synthetic(house, 'tokens=3,fail_at=1')).id);
  await failing.stream.rest();
  t.match(
    sectionsOf((await exported(house, failing.id)).text)[1],
    /^> .+\n\n\*Cut short: error, `assistant_unavailable`\.\*\n$/,
  );
}

async function long(t: Test, house: House): Promise<void> {
  const assistant = await synthetic(house, `tokens=1990,text=${'語'.repeat(98)}👋`);
  const { id, stream } = await begin(house, assistant.id);
  await stream.rest();
  for (let turn = 0; turn < 3; turn++) await (await say(house, id, `message ${turn}`)).rest();
  const { text, headers } = await exported(house, id);
  t.equal(headers.get('content-length'), null, 'streamed');
  const sections = sectionsOf(text).map(said);
  t.equal(sections.length, 8);
  t.same(
    sections.filter((_, index) => index % 2 === 0),
    ['Hello', ...Array.from({ length: 3 }, (_, turn) => `message ${turn}`)],
  );
  t.ok(
    sections
      .filter((_, index) => index % 2 === 1)
      .every((section) => section === `${'語'.repeat(98)}👋 `.repeat(1990).trimEnd()),
    'to the last character',
  );
}

async function csv(t: Test, house: House): Promise<void> {
  const assistant = await synthetic(house, 'tokens=2');
  await (await begin(house, assistant.id)).stream.rest();
  const end = Math.floor(Date.now() / 1000) + 60;
  for (const query of [
    `start=${end - 90 * 86_400}&end=${end}&bucket=hour`,
    `start=${end - 3 * 86_400}&end=${end}`,
    `start=${end - 3600}&end=${end}&assistant_id=${assistant.id}`,
    `start=${end}&end=${end}`,
  ]) {
    const answer = await inside(house, `/usage?format=csv&${query}`);
    t.equal(answer.status, 200, query);
    t.equal(answer.headers.get('content-type'), 'text/csv; charset=utf-8; header=present');
    isRated(t, answer, false, 'no budget is charged');
    const usage = (await inside(house, `/usage?format=json&${query}`)).json;
    const [head, ...rows] = answer.text.split('\r\n');
    t.equal(
      head,
      'start,sessions,turns,failed_turns,input_tokens,output_tokens,speech_characters,transcription_seconds,tool_calls,cached_input_tokens,feedback_up,feedback_down,person_messages,handovers',
    );
    t.equal(rows.pop(), '', 'the last row ends as the others do');
    t.same(
      rows,
      usage.data.map((bucket: object) => Object.values(bucket).join(',')),
      'a row for each bucket',
    );
    t.notMatch(answer.text, /[^\r]\n|"/);
  }
  t.match(
    (await inside(house, `/usage?format=csv&start=${end - 3600}&end=${end}&assistant_id=${assistant.id}`)).text,
    /\d,1,1,0,\d+,2,0,0,0,0,0,0,0,0\r\n/,
  );
}

async function refusedOnes(t: Test, house: House): Promise<void> {
  const { id } = await house.session((await synthetic(house, 'tokens=1')).id);
  const none = `ses_${'0'.repeat(26)}`;
  for (const format of ['html', 'Markdown', '', 'csv'])
    isRefused(
      t,
      await inside(house, `/sessions/${id}/transcript?format=${format}`),
      unrated(wrongField('format')),
      `transcript ${format}`,
    );
  for (const format of ['xlsx', 'CSV', '', 'markdown'])
    isRefused(t, await inside(house, `/usage?format=${format}`), unrated(wrongField('format')), `usage ${format}`);
  isRefused(t, await exported(house, none), unrated(refusals.noSession));
  isRefused(
    t,
    await house.console(`/workspaces/wks_${'0'.repeat(26)}/sessions/${id}/transcript?format=markdown`),
    unrated(refusals.noRoute),
  );
  isRefused(t, await inside(house, '/usage?format=csv&start=2&end=1'), unrated(refusals.invalidRange));
  isRefused(
    t,
    await inside(house, `/usage?format=csv&assistant_id=asst_${'0'.repeat(26)}`),
    unrated(refusals.noAssistant),
  );
  const plain = await house.ask(`/sessions/${id}/transcript?format=markdown`);
  t.equal(plain.headers.get('content-type'), 'application/json; charset=utf-8', 'the API knows nothing of it');
}
