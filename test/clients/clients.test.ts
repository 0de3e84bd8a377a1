/**
 * Programs that were written for other servers, against this one: only URL, key and model are its own (contract 14).
 */
import t from 'tap';
import { edge, openHouse } from '../api/house.ts';
import { documents, tables } from './documents.ts';
import { failures } from './failures.ts';
import { chats, conversations, cuts, responses, speech, tools } from './openai.ts';
import { agentsRealtime, openaiRealtime } from './realtime.ts';
import { agents, agentsPackage, aiSdk, aiSdkDefault, aiSdkOpenai, langchain } from './sdks.ts';
import { chatWindows } from './windows.ts';

t.test(edge, async (t) => {
  const house = await openHouse(t, { env: { PARLEY_ALLOW_PRIVATE_PROVIDERS: '1' } });
  await t.test('openai: chat completions and models', (t) => chats(t, house));
  await t.test('openai: functions of its own', (t) => tools(t, house));
  await t.test('openai: a conversation that goes on', (t) => conversations(t, house));
  await t.test('openai: speech is synthesized and transcribed', (t) => speech(t, house));
  await t.test('openai: a reply that is cut', (t) => cuts(t, house));
  await t.test('openai: responses continue a conversation', (t) => responses(t, house));
  await t.test('openai: failures, and what it asks again', (t) => failures(t, house));
  await t.test('the AI SDK completes a conversation', (t) => aiSdk(t, house));
  await t.test("the AI SDK with OpenAI's provider", { skip: aiSdkOpenai.why ?? false }, (t) => aiSdkDefault(t, house));
  await t.test('LangChain completes a conversation', (t) => langchain(t, house));
  await t.test("OpenAI's agents complete a conversation", { skip: agentsPackage.why ?? false }, (t) =>
    agents(t, house),
  );
  await t.test("OpenAI's agents: a call", { skip: agentsPackage.why ?? false }, (t) => agentsRealtime(t, house));
  await t.test('openai: a call is spoken and heard', (t) => openaiRealtime(t, house));
  await t.test('what chat windows send', (t) => chatWindows(t, house));
  await t.test('the blocks of docs/clients.md', (t) => documents(t, house));
  await t.test('the tables of docs/clients.md are true', tables);
});
