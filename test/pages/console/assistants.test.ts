/** The console's pages of assistants and tools in a browser, on one server with the data of a morning. */
import t from 'tap';
import { whyNoBrowser } from '../../browser.ts';
import { theAssistant } from './assistant.ts';
import { theTests } from './assistant-tests.ts';
import { furnish, openConsole } from './console.ts';
import { theIdentity } from './identity.ts';
import { modelSettings } from './model-settings.ts';
import { theReleases } from './releases.ts';
import { theRollouts } from './rollouts.ts';
import { theTools } from './tools.ts';

t.test('assistants and tools are managed in a browser', { skip: whyNoBrowser }, async (t) => {
  const console = await openConsole(t);
  await furnish(console.house);
  await t.test("an assistant's page saves its sections", (t) => theAssistant(t, console));
  await t.test("an assistant's page publishes changes of its draft", (t) => theReleases(t, console));
  await t.test('an assistant is tested before a release', (t) => theTests(t, console));
  await t.test('versions are rolled out, halted and promoted', (t) => theRollouts(t, console));
  await t.test("a link's secret is made, shown once, rotated and removed", (t) => theIdentity(t, console));
  await t.test('fallback models and token budgets are set', (t) => modelSettings(t, console));
  await t.test('tools are added, tried and removed', (t) => theTools(t, console));
});
