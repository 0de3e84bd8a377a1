/** The console in a browser, on one server with the data of a morning. */
import t from 'tap';
import { whyNoBrowser } from '../../browser.ts';
import { theAssistant } from './assistant.ts';
import { furnish, openConsole } from './console.ts';
import { crowds } from './crowds.ts';
import { flows } from './flows.ts';
import { liveLists } from './live-lists.ts';
import { navigation } from './navigation.ts';
import { everyPage } from './pages.ts';
import { plots } from './plots.ts';
import { signingIn } from './sign-in.ts';
import { theTools } from './tools.ts';
import { turns } from './turns.ts';

t.test('in a browser', { skip: whyNoBrowser }, async (t) => {
  const console = await openConsole(t);
  const full = await furnish(console.house);
  await t.test('pages', (t) => everyPage(t, console, full));
  await t.test('flows', (t) => flows(t, console, full));
  await t.test('navigation', (t) => navigation(t, console, full));
  await t.test('turns', (t) => turns(t, console));
  await t.test("an assistant's page", (t) => theAssistant(t, console));
  await t.test('tools', (t) => theTools(t, console));
  await t.test('live lists', (t) => liveLists(t, console));
  await t.test('crowds', (t) => crowds(t, console));
  await t.test('plots', (t) => plots(t, console));
  await t.test('signing in', (t) => signingIn(t, console));
});
