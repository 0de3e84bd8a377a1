/** The link's page over plain HTTP, where browsers give no microphone; and at addresses where there is nothing. */
import t from 'tap';
import { insecure } from '../../../src/pages/call/insecure.ts';
import { languages } from '../../../src/pages/words.ts';
import { openHouse } from '../../api/house.ts';
import { openBrowser, whyNoBrowser } from '../../browser.ts';
import { openLink, quiet, say } from './browser.ts';
import { linked } from './visits.ts';

const house = await openHouse(t, { env: { PARLEY_SYNTHETIC: '1' } });
const browser = whyNoBrowser ? null! : await openBrowser(t, '--host-resolver-rules=MAP plain.test 127.0.0.1');
await linked(house, 'plain', {
  channels: { voice: true, link: true, widget: true },
  voice: { provider: 'synthetic', name: 'audio_ms=50' },
});
const url = house.url.replace(/\/\/[^:]+/, '//plain.test');

t.test(
  'over plain HTTP dictation and calls say why there is no microphone, and one can write',
  { skip: whyNoBrowser },
  async (t) => {
    for (const language of languages) {
      const { page, context } = await openLink(browser, `${url}/p/plain?lang=${language}`);
      await page.locator('#message').waitFor();
      t.equal(await page.evaluate('isSecureContext'), false);
      for (const button of [0, 1]) {
        await page.locator('#talk .icon').nth(button).click();
        await page.locator('#notice').filter({ hasText: insecure[language] }).waitFor();
        t.equal(await page.locator('#call').count(), 0);
      }
      await say(page, 'Hello');
      await quiet(page);
      await page.locator('#messages li.assistant').waitFor();
      await context.close();
    }
  },
);

t.test(
  'an address with a slug that nobody has is answered in a sentence, however it is written',
  { skip: whyNoBrowser },
  async (t) => {
    for (const slug of [
      'nobody',
      'Plain',
      'plain%20',
      '%E0%A4',
      '%zz',
      'a'.repeat(65),
      '%00',
      'pl%C3%A4in',
      'plain.',
    ]) {
      const { page, context } = await openLink(browser, `${house.url}/p/${slug}`);
      t.match(await page.evaluate('document.body.innerText'), /There is nothing here\.|Good day|Your message/, slug);
      await context.close();
    }
  },
);
