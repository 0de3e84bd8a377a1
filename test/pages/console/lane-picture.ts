/**
 * The picture of a call on its chart, with its last half minute above it: a reply that continues after a word, and one
 * that is cut.
 */
import { pause, realClock } from '../../../src/client/clock.ts';
import { opened } from '../../api/caller.ts';
import { openHouse } from '../../api/house.ts';
import { openBrowser, openPage } from '../../browser.ts';
import type { Owner } from '../../folders.ts';
import { phrase } from '../../phrase.ts';
import { openStandIn } from './stand-in.ts';

/** Bytes of 40 ms at 16 kHz, and the time between two reports. */
const [pieceBytes, pieceMs, reportMs] = [1_280, 40, 250];

export async function takeLanePicture(owner: Owner, file: string): Promise<void> {
  // Loudness alone is taken for speech without voice processes.
  const house = await openHouse(owner, { env: { PARLEY_SYNTHETIC: '1', PARLEY_VOICE_PROCESSES: '0' } });
  const standIn = await openStandIn(owner, house);
  const browser = await openBrowser(owner);
  const caller = await opened(house, {
    texts: 'where_is_my_order|yes|no_stop',
    model: 'tokens=100,delay_ms=0',
    characterMs: 60,
  });
  const wait = (ms: number): Promise<void> => pause(realClock, ms, new AbortController().signal);
  let said: Buffer = Buffer.alloc(0);
  const microphone = setInterval(() => {
    caller.send(Buffer.concat([said.subarray(0, pieceBytes), Buffer.alloc(Math.max(0, pieceBytes - said.length))]));
    said = said.subarray(pieceBytes);
  }, pieceMs);
  // Half a second of what came is still to be heard.
  const reports = setInterval(
    () =>
      caller.send({
        type: 'played',
        message_id: caller.message,
        samples: Math.max(0, (caller.received.get(caller.message) ?? 0) - 8_000),
      }),
    reportMs,
  );
  const { page, complaints } = await openPage(browser, {
    origin: standIn.url,
    width: 1280,
    height: 720,
    reducedMotion: 'no-preference',
  });
  await page.goto(`${standIn.url}/console/${house.workspaceId}/live/session/${caller.session.id}`);
  await page.getByRole('link', { name: 'Call', exact: true }).click();
  await page.getByRole('region', { name: 'The last 30 seconds' }).waitFor();
  const says = (ms: number): void => void (said = phrase(ms));
  says(1_600);
  await caller.until('audio.start');
  await wait(5_000);
  says(400);
  await wait(6_000);
  says(1_500);
  await caller.until('turn.aborted');
  await caller.until('turn.started', ({ text }) => text === 'no stop');
  await wait(5_000);
  await page.screenshot({ path: file });
  if (complaints.length > 0) throw new Error(complaints.join('\n'));
  clearInterval(microphone);
  clearInterval(reports);
  caller.send({ type: 'hangup' });
  await caller.closed;
}
