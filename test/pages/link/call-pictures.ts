/** The picture of a call, for docs/call.md and the README: the link's page while the assistant speaks. */
import { mkdirSync } from 'node:fs';
import { openHouse } from '../../api/house.ts';
import { openBrowser } from '../../browser.ts';
import type { Owner } from '../../folders.ts';
import { phraseFor } from '../../phrase.ts';
import { openLink } from './browser.ts';

const pictures = [
  { name: 'bar', options: { width: 720, height: 400 } },
  { name: 'phone', options: { width: 360, height: 640, colorScheme: 'dark' } },
] as const;

/** Returns the names of the files, without the folder. */
export async function takeCallPictures(t: Owner, folder: string): Promise<string[]> {
  // Without voice processes loudness alone is taken for speech.
  const house = await openHouse(t, { env: { PARLEY_SYNTHETIC: '1', PARLEY_VOICE_PROCESSES: '0' } });
  const voice = { provider: 'synthetic', name: 'character_ms=60', transcription_name: 'texts=What_can_you_do?' };
  await house.assistant({ name: 'Corner shop', greeting: 'Good day! What can I do for you?', model: { provider: 'scripted', name: 'demo' }, voice, channels: { voice: true, link: true, widget: false }, link: { slug: 'shop', limits: {}, origins: [] } });
  const browser = await openBrowser(t, '--use-fake-ui-for-media-stream', '--use-fake-device-for-media-stream', `--use-file-for-fake-audio-capture=${await phraseFor(t, { beforeMs: 4_000 })}%noloop`);
  mkdirSync(folder, { recursive: true });
  for (const { name, options } of pictures) {
    const { page, complaints, context } = await openLink(browser, `${house.url}/p/shop`, options);
    await page.getByRole('button', { name: 'Call', exact: true }).click();
    // Some words into the reply.
    await page.locator('#messages li.assistant').nth(1).filter({ hasText: /(\S+\s+){9}/ }).waitFor();
    if (complaints.length > 0) throw new Error(complaints.join('\n'));
    await page.screenshot({ path: `${folder}${name}.png` });
    await context.close();
  }
  return pictures.map(({ name }) => `${name}.png`);
}
