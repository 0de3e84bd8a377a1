/** People's flows in the console: with the keyboard alone, while things happen, and when the network fails. */
import type { Test } from 'tap';
import type { Page } from 'playwright-core';
import { linked, Visit } from '../link/visits.ts';
import { settled, within, type Console, type Furnished } from './console.ts';

export async function flows(t: Test, console: Console, full: Furnished): Promise<void> {
  type InFull = (t: Test, page: Page, console: Console, full: Furnished, complaints: string[]) => Promise<void>;
  const inFull = (name: string, run: InFull) =>
    within(t, console, name, (t, page, _, complaints) => run(t, page, console, full, complaints));
  await inFull('a key is created and revoked with the keyboard alone', keyByKeyboard);
  await inFull('an assistant is written, published and disabled with the keyboard alone', assistantByKeyboard);
  await inFull('a past is gone through with the arrow keys, and every step has its address', scrubbing);
  await inFull('what would happen if: a copy answers', whatIf);
  await inFull('a chart shows the state that the API has, and no other', theChart);
  await inFull('a lost connection is said and mended', lostConnection);
  await inFull('a transcript grows, and is text whatever was said', theTranscript);
  await inFull('a session and a visitor are erased after a question, and the receipt is shown', erasing);
  await inFull('a trial is held beside the form, with its chart', theTrial);
  await inFull('the list of sessions is filtered by what stands in the address', theList);
  await inFull('rows of Sessions say what was said first and when, and the page how many there are', theRows);
  await inFull('Usage says each figure once', usageOnce);
  await t.test('a person who is signed out signs in and is back where they were', (t) => signedOut(t, console));
}

const focused = `(() => {
  const one = document.activeElement;
  return one === document.body ? 'BODY' : (one.getAttribute('aria-label') ?? one.labels?.[0]?.textContent ?? one.textContent).trim();
})()`;

/** Tabs on to the element with this name. */
async function tabTo(t: Test, page: Page, name: string): Promise<void> {
  for (let presses = 0; presses < 80; presses++) {
    await page.keyboard.press('Tab');
    if ((await page.evaluate(focused)) === name) return;
  }
  t.fail(`${name} is not reached`);
}

async function keyByKeyboard(t: Test, page: Page, { url, house }: Console): Promise<void> {
  await page.goto(url(house.workspaceId, 'keys'));
  await page.getByRole('table', { name: 'Keys' }).waitFor();
  await tabTo(t, page, 'Create key');
  await page.keyboard.press('Enter');
  const form = page.getByRole('dialog', { name: 'Create key' });
  await form.waitFor();
  await tabTo(t, page, 'Name');
  await page.keyboard.type('by hand');
  await page.keyboard.press('Enter');
  const once = page.getByRole('dialog', { name: 'The key “by hand”' });
  await once.waitFor();
  const key = (await once.locator('.once').textContent())!;
  t.equal((await house.ask('/assistants', { key })).status, 200, 'the key works');
  await page.keyboard.press('Escape');
  t.ok(await once.isVisible(), 'what is shown once does not go by mistake');
  await tabTo(t, page, 'I have saved it');
  await page.keyboard.press('Enter');
  await once.waitFor({ state: 'detached' });
  t.notOk((await page.content()).includes(key), 'it is nowhere any more');
  t.not(await page.evaluate(focused), undefined);
  await page.getByRole('link', { name: 'by hand' }).focus();
  await page.keyboard.press('Enter');
  await page.getByRole('heading', { name: 'by hand' }).waitFor();
  await tabTo(t, page, 'Revoke key');
  await page.keyboard.press('Enter');
  const asked = page.getByRole('dialog', { name: 'Revoke “by hand”' });
  await asked.waitFor();
  t.equal((await house.ask('/assistants', { key })).status, 200, 'it asks first');
  await tabTo(t, page, 'Revoke key');
  await page.keyboard.press('Enter');
  await page.locator('.pill', { hasText: 'revoked' }).waitFor();
  t.equal((await house.ask('/assistants', { key })).json.error.code, 'revoked_api_key');
  await page.goBack();
  await page.getByRole('table', { name: 'Keys' }).waitFor();
}

async function assistantByKeyboard(t: Test, page: Page, { url, house }: Console): Promise<void> {
  await page.goto(url(house.workspaceId, 'assistants', 'new'));
  await settled(page);
  await tabTo(t, page, 'Name');
  await page.keyboard.type('night shift');
  // A reload loses nothing.
  page.once('dialog', (dialog) => void dialog.accept());
  await page.reload();
  await settled(page);
  t.equal(await page.getByLabel('Name', { exact: true }).inputValue(), 'night shift');
  await tabTo(t, page, 'Name');
  await page.keyboard.press('Enter');
  await page.locator('.pill', { hasText: 'draft' }).waitFor();
  await page.getByRole('main').focus();
  await tabTo(t, page, 'Publish');
  await page.keyboard.press('Enter');
  await page.getByRole('dialog', { name: 'Publish the draft' }).waitFor();
  await page.keyboard.type('The first one');
  await page.keyboard.press('Enter');
  await page.locator('.pill', { hasText: 'published' }).waitFor();
  const id = page.url().split('/').at(-1)!;
  const stored = async () => (await house.console(`/workspaces/${house.workspaceId}/assistants/${id}`)).json;
  t.match(await stored(), { name: 'night shift', status: 'published' });
  await page.getByRole('main').focus();
  await tabTo(t, page, 'Disable');
  await page.keyboard.press('Enter');
  await page.getByRole('dialog').waitFor();
  await tabTo(t, page, 'Disable');
  await page.keyboard.press('Enter');
  await page.locator('.pill', { hasText: 'disabled' }).waitFor();
  t.match(await stored(), { status: 'disabled' });
}

const current = (page: Page) => page.locator('.state[aria-current="true"]');
const isIn = (page: Page, state: string): Promise<void> =>
  page.locator(`.state[data-state="${state}"][aria-current="true"]`).waitFor();

const historyOf = async ({ standIn, house }: Console, id: string): Promise<{ seq: number; to: string }[]> =>
  (
    (await (
      await fetch(
        `${standIn.url}/console/api/workspaces/${house.workspaceId}/sessions/${id}/history?order=asc&limit=100`,
      )
    ).json()) as { data: { seq: number; to: string }[] }
  ).data;

async function scrubbing(t: Test, page: Page, console: Console, { ended }: Furnished): Promise<void> {
  const { url, house } = console;
  await page.goto(url(house.workspaceId, 'live', 'session', ended.id));
  await isIn(page, 'ended');
  await tabTo(t, page, 'Step of the history');
  const rows = await historyOf(console, ended.id);
  const seen = [];
  for (let presses = 0; presses < 4; presses++) {
    await page.keyboard.press('ArrowLeft');
    seen.push([new URL(page.url()).searchParams.get('at'), await current(page).getAttribute('data-state')]);
  }
  const told = rows.slice(-5, -1).toReversed();
  t.same(
    seen,
    told.map(({ seq, to }) => [String(seq), to]),
    'state by state',
  );
  t.same(
    told.map(({ to }) => to),
    ['open', 'streaming', 'open', 'streaming'],
  );
  t.match(
    await page.getByRole('region', { name: 'Context' }).textContent(),
    /activeTurnId turn_\w{26}/,
    'with the context of that moment',
  );
  await page.reload();
  await isIn(page, 'streaming');
  t.equal(
    await page.getByRole('slider').getAttribute('aria-valuenow'),
    String(rows.length - 4),
    'the address has the step',
  );
  await page.getByRole('slider').focus();
  await page.keyboard.press('End');
  await isIn(page, 'ended');
  t.equal(new URL(page.url()).searchParams.get('at'), null);
}

async function whatIf(t: Test, page: Page, { url, house }: Console, { session }: Furnished): Promise<void> {
  await page.goto(url(house.workspaceId, 'live', 'session', session.id));
  await isIn(page, 'streaming');
  const answer = page.locator('.what-if output');
  const box = page.getByLabel('Simulate event');
  for (const [question, expected] of [
    ['chat', /Refused: turn_in_progress.*It stays streaming/],
    ['end', /streaming → ended/],
    ['chat: the session is past its seconds', /Refused: session_expired.*streaming → expired/],
  ] as const) {
    await box.selectOption({ label: question });
    t.match(await answer.textContent(), expected, question);
  }
  t.equal((await house.ask(`/sessions/${session.id}`)).json.status, 'open', 'nothing was sent');
}

async function theChart(t: Test, page: Page, { url, house }: Console, { assistant }: Furnished): Promise<void> {
  const slow = await house.assistant({ name: 'slow', model: { provider: 'synthetic', name: 'hang_at=3' } });
  const one = await house.session(slow.id);
  await page.goto(url(house.workspaceId, 'live', 'session', one.id));
  await isIn(page, 'open');
  const turn = await house.stream(`/sessions/${one.id}/chat`, { body: { message: 'Hi' } });
  await isIn(page, 'streaming');
  await house.ask(`/sessions/${one.id}/chat`, { body: { message: 'and?' } });
  await page.locator('.state[data-state="streaming"] .row.no.lit').waitFor();
  t.match(await page.locator('.row.no.lit').textContent(), /turn_in_progress/, 'a refusal is lit where it happened');
  await page.getByRole('link', { name: 'Turn', exact: true }).click();
  await isIn(page, 'answering');
  t.equal(await page.getByRole('link', { name: one.id }).count(), 1, "the turn's page knows its session");
  await page.getByRole('button', { name: 'Abort the turn' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Abort the turn' }).click();
  await isIn(page, 'aborted');
  await turn.rest();
  await page.goBack();
  await isIn(page, 'open');
  await page.getByRole('button', { name: 'End' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'End the session' }).click();
  await isIn(page, 'ended');
  t.equal(await current(page).count(), 1, 'no other state is marked');
  t.equal((await house.ask(`/sessions/${one.id}`)).json.status, 'ended');

  await page.goto(url(house.workspaceId, 'live'));
  await page.getByRole('link', { name: /session ended|sessions ended/ }).click();
  await page.getByRole('table', { name: 'Actors' }).waitFor();
  t.equal(await current(page).count(), 0, 'of many there is no one state');
  await page.getByRole('table', { name: 'Actors' }).getByRole('link', { name: one.id }).click();
  await isIn(page, 'ended');
  t.ok(assistant.id);
}

async function lostConnection(t: Test, page: Page, console: Console): Promise<void> {
  const { url, house, standIn } = console;
  const slow = await house.assistant({ name: 'cut', model: { provider: 'synthetic', name: 'hang_at=3' } });
  const one = await house.session(slow.id);
  await page.goto(url(house.workspaceId, 'live', 'session', one.id));
  await isIn(page, 'open');
  const said = page.getByText('The connection is lost. Reconnecting');
  const back = said.waitFor().then(() => said.waitFor({ state: 'detached' }));
  standIn.cut();
  const turn = await house.stream(`/sessions/${one.id}/chat`, { body: { message: 'Hi' } });
  await back;
  await isIn(page, 'streaming');
  const steps = page.getByRole('list', { name: /Steps/ }).getByRole('listitem');
  const { length } = await historyOf(console, one.id);
  // The history is requested once the live actors are there.
  await steps.nth(length - 1).waitFor();
  t.equal(await steps.count(), length, 'nothing is missing and nothing is there twice');
  turn.leave();
}

async function theTranscript(t: Test, page: Page, { url, house }: Console, { session }: Furnished): Promise<void> {
  await page.goto(url(house.workspaceId, 'sessions', session.id));
  await page.getByText('writing …').waitFor();
  const said = page.getByRole('article', { name: 'Visitor' }).first();
  t.match(await said.textContent(), /<img src=x onerror=complain\(1\)>/, 'what a visitor says is text');
  t.equal(await page.locator('.said img').count(), 0);
  const one = await house.session(
    (await house.assistant({ name: 'cut short', model: { provider: 'synthetic', name: 'fail_at=5,delay_ms=5' } })).id,
  );
  await (await house.stream(`/sessions/${one.id}/chat`, { body: { message: 'Hi' } })).rest();
  await page.goto(url(house.workspaceId, 'sessions', one.id));
  t.match(await page.locator('.cut').textContent(), /the provider failed/, 'what was cut says why');
}

async function erasing(
  t: Test,
  page: Page,
  { url, house }: Console,
  _: Furnished,
  complaints: string[],
): Promise<void> {
  await linked(house, 'erased-in-console');
  const visit = await Visit.to(house, 'erased-in-console');
  const [first, second] = [await visit.session(), await visit.session()];
  await visit.say(first);
  const act = async (name: string, sessions: number): Promise<void> => {
    await page.getByRole('button', { name, exact: true }).click();
    const dialog = page.getByRole('dialog');
    t.match(await dialog.textContent(), /This cannot be undone/);
    await dialog.getByRole('button', { name: `Erase the ${name === 'Erase' ? 'session' : 'visitor'}` }).click();
    await page.getByRole('heading', { name: 'Erased' }).waitFor();
    t.match(await page.locator('.facts').textContent(), `Sessions${sessions}`, 'the receipt has its counts');
  };
  await page.goto(url(house.workspaceId, 'sessions', first.id));
  await act('Erase', 1);
  t.equal((await visit.ask(`/sessions/${first.id}`)).status, 404);
  await visit.session();
  await page.goto(url(house.workspaceId, 'sessions', second.id));
  await act('Erase visitor', 2);
  const own = await house.session((await house.assistant({ name: 'nobody visits it' })).id);
  await page.goto(url(house.workspaceId, 'sessions', own.id));
  await page.getByRole('button', { name: 'Erase', exact: true }).waitFor();
  t.equal(await page.getByRole('button', { name: 'Erase visitor' }).count(), 0, 'a session of a key has no visitor');
  // The feed may report an erasure before its answer comes: the page reads the session again.
  complaints.splice(0, complaints.length, ...complaints.filter((one) => !/status of 404/.test(one)));
}

async function theTrial(t: Test, page: Page, { url, house }: Console, { assistant }: Furnished): Promise<void> {
  await page.goto(url(house.workspaceId, 'assistants', assistant.id));
  await page.locator('.beside .state').first().waitFor();
  await page.getByLabel('Message', { exact: true }).fill('Count to 7');
  await page.keyboard.press('Enter');
  await page.getByRole('article', { name: 'Assistant' }).getByText('5, 6, 7.').waitFor();
  await page.locator('.beside .state[data-state="streaming"] .row.lit', { hasText: 'finished' }).waitFor();
  await isIn(page, 'open');
  t.equal(await page.evaluate(focused), 'Message', 'one can go on writing');
}

async function theList(t: Test, page: Page, { url, house }: Console, { ended }: Furnished): Promise<void> {
  await page.goto(url(house.workspaceId, 'sessions'));
  const rows = page.getByRole('table', { name: 'Sessions' });
  await rows.waitFor();
  await page.getByLabel('State').selectOption('ended');
  await page.waitForURL(/status=ended/);
  await rows.locator(`a[title="${ended.id}"]`).waitFor();
  await rows.getByText('streaming').waitFor({ state: 'detached' });
  await rows.locator(`a[title="${ended.id}"]`).click();
  await page.getByText('Hello').first().waitFor();
  await page.goBack();
  await page.waitForURL(/status=ended/);
  t.equal(await page.getByLabel('State').inputValue(), 'ended', 'Back leads to what was filtered');
}

async function theRows(t: Test, page: Page, { url, house }: Console, { ended }: Furnished): Promise<void> {
  const assistant = await house.assistant({ name: 'row by row' });
  const { id } = await house.session(assistant.id);
  await (await house.stream(`/sessions/${id}/chat`, { body: { message: 'Where is\nmy   order?' } })).rest();
  await house.session(assistant.id);
  for (const width of [1440, 360]) {
    await page.setViewportSize({ width, height: 900 });
    await page.goto(url(house.workspaceId, `sessions?assistant_id=${assistant.id}`));
    const row = page
      .getByRole('table', { name: 'Sessions' })
      .getByRole('row')
      .filter({ has: page.locator(`a[title="${id}"]`) });
    await page.getByLabel('Assistant').getByRole('option', { name: 'row by row' }).waitFor({ state: 'attached' });
    // A row that is not painted yet has no innerText: `content-visibility`.
    for (const [said, of] of [
      ['Where is my order?', 'the first words'],
      [/\d{1,2} \w{3,4}, \d\d:\d\d/, 'when it began'],
      ['row by row', 'with whom'],
      [/\bopen\b/, 'and its state'],
    ] as const) {
      await row.getByText(said).filter({ visible: true }).first().waitFor();
      t.pass(`${width} px: ${of}`);
    }
    await page.getByText('Nothing was said yet').waitFor();
    await page.getByText('2 sessions match', { exact: true }).waitFor();
  }
  await page.setViewportSize({ width: 1440, height: 900 });
  await page.goto(url(house.workspaceId, 'sessions'));
  const { total } = (await house.console(`/workspaces/${house.workspaceId}/sessions?total=true`)).json;
  await page.getByText(`${total} sessions`, { exact: true }).waitFor();
  await page.locator(`a[title="${ended.id}"]`).waitFor();
}

async function usageOnce(t: Test, page: Page, { url, standIn, house }: Console): Promise<void> {
  const day = (start: number, turns: number) => ({
    start,
    sessions: 3 * turns,
    turns,
    failed_turns: 5 * turns,
    input_tokens: 1007 * turns,
    output_tokens: 2003 * turns,
    speech_characters: 4001 * turns,
    transcription_seconds: 811 * turns,
    tool_calls: 13 * turns,
  });
  for (const turns of [[131, 137], [131]]) {
    const data = turns.map((each, index) => day(1_795_824_000 + 86_400 * index, each));
    const totals = day(
      0,
      turns.reduce((sum, each) => sum + each, 0),
    );
    const stop = standIn.answer(/\/usage\?/, 200, () => ({
      object: 'usage',
      start: 0,
      end: 1,
      bucket: 'day',
      data,
      totals,
    }));
    await page.goto(url(house.workspaceId, 'usage'));
    await page.getByText('Spoken characters').first().waitFor();
    const text = await page.locator('main').innerText();
    for (const figure of [...data, totals].flatMap(
      ({ turns, output_tokens: out, input_tokens: into, speech_characters: speech }) => [turns, out, into, speech],
    )) {
      const said = text.match(new RegExp(`(?<![\\d,])${figure.toLocaleString('en')}(?![\\d,])`, 'g')) ?? [];
      t.equal(said.length, 1, `${figure} stands once`);
    }
    stop();
  }
}

async function signedOut(t: Test, { open, url, house, standIn }: Console): Promise<void> {
  const { page, context } = await open();
  const path = url(house.workspaceId, 'keys');
  const nobody = {
    error: { type: 'authentication_error', code: 'missing_api_key', message: 'No API key was sent.' },
    request_id: `req_${'0'.repeat(26)}`,
  };
  const stop = standIn.answer(/^\/console\/api\/(me|workspaces)/, 401, nobody);
  await page.goto(path);
  await page.getByLabel('Operator token').waitFor();
  t.equal(page.url(), path, 'the address stays');
  const wrong = standIn.answer(/\/sign-in$/, 429, {
    error: { type: 'rate_limit_error', code: 'rate_limited', message: 'Rate limit exceeded. Retry in 60 seconds.' },
    request_id: `req_${'1'.repeat(26)}`,
  });
  await page.getByLabel('Operator token').fill('wrong');
  await page.keyboard.press('Enter');
  t.match(await page.getByRole('alert').textContent(), /Retry in 60 seconds\..*req_1{26}/, 'a refusal says what to do');
  wrong();
  const kept = standIn.answer(/\/sign-in$/, 204, null);
  await page.keyboard.press('Enter');
  await page.getByText('The browser did not keep the sign-in.').waitFor();
  t.match(
    await page.getByRole('alert').textContent(),
    /HTTPS/,
    'a browser that keeps no cookie is told so, without a loop',
  );
  stop();
  await page.keyboard.press('Enter');
  await page.getByRole('table', { name: 'Keys' }).waitFor();
  t.equal(page.url(), path, 'and one is back');
  kept();
  await context.close();
}
