/** The console in a browser, on one server with the data of a morning; assistants and tools: assistants.test.ts. */
import t from 'tap';
import { whyNoBrowser } from '../../browser.ts';
import { theAudit } from './audit.ts';
import { furnish, openConsole } from './console.ts';
import { crowds } from './crowds.ts';
import { flows } from './flows.ts';
import { liveLists } from './live-lists.ts';
import { navigation } from './navigation.ts';
import { everyPage } from './pages.ts';
import { people } from './people.ts';
import { plots } from './plots.ts';
import { signingIn } from './sign-in.ts';
import { turns } from './turns.ts';
import { theDesk } from './desk.ts';
import { theWebhooks } from './webhooks.ts';

t.test('the console works in a browser', { skip: whyNoBrowser }, async (t) => {
  const console = await openConsole(t);
  const full = await furnish(console.house);
  await t.test('every page shows its contents and passes axe', (t) => everyPage(t, console, full));
  await t.test('each flow of the console completes', (t) => flows(t, console, full));
  await t.test('navigation moves focus and titles', (t) => navigation(t, console, full));
  await t.test('turns appear on the page while they run', (t) => turns(t, console));
  await t.test('a person attends a session at the desk', (t) => theDesk(t, console));
  await t.test('webhooks are created, delivered to and deleted', (t) => theWebhooks(t, console));
  await t.test('live lists show sessions that arrive', (t) => liveLists(t, console));
  await t.test('the live page stays usable with crowds of actors', (t) => crowds(t, console));
  await t.test('plots show the load of the last hour', (t) => plots(t, console));
  await t.test('people are invited, and each role is shown what it permits', (t) => people(t, console, full));
  await t.test('the audit shows who changed what', (t) => theAudit(t, console));
  await t.test('a person signs in and out', (t) => signingIn(t, console));
});
