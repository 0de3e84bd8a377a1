/** Carries a plan out. Each change names the digest that the plan was made from, so that an edit meanwhile is kept. */
import type { ConsoleAssistantView, TestView, ToolView } from '../../wire/wire.ts';
import { AdvisedFailure, CommandFailure } from '../exit.ts';
import { segment, type ConsoleClient } from '../console-client.ts';
import { withTestAdvice } from '../required-tests.ts';
import { refused, type Folder } from './folder.ts';
import { readWorkspace, storedTest, type WorkspaceState } from './installation.ts';
import { planOf, type AssistantStep, type Change, type FileOf, type Plan, type Step, type Stored } from './plan.ts';
import {
  bodyOfAssistant,
  bodyOfTest,
  bodyOfTool,
  testName,
  type AssistantSettings,
  type IdOf,
  type TestSettings,
  type ToolSettings,
} from './settings.ts';

interface Target {
  readonly client: ConsoleClient;
  /** The path of the workspace. */
  readonly workspace: string;
  readonly folder: Folder;
  readonly state: WorkspaceState;
}

export interface CarriedOut {
  /** Names of assistants and tools that somebody else changed while the plan was carried out. */
  readonly overtaken: readonly string[];
  readonly published: readonly string[];
  /** Digests by the paths of files that the installation agrees with. */
  readonly digests: ReadonlyMap<string, string>;
}

/**
 * New tools come first, because assistants name them; then assistants, and changes of tools last: they change the drafts
 * of assistants, and so the digests that the plan was made from.
 */
export async function carryOut(plan: Plan, publish: boolean, target: Target): Promise<CarriedOut> {
  const { client, workspace } = target;
  const overtaken: string[] = [];
  const toolIds = new Map(target.state.installation.tools.map(({ name, id }) => [name, id]));
  const made = new Map<string, string>();
  for (const step of plan.tools)
    if (step.outcome === 'create') made.set(step.file.name, await createTool(step, target));
  for (const [name, id] of await keepFirst(`${workspace}/tools`, made, client)) {
    if (id !== made.get(name)) overtaken.push(name);
    toolIds.set(name, id);
  }
  const assistantIds = new Map(target.state.installation.assistants.map(({ name, id }) => [name, id]));
  const toolOf = idFrom(toolIds);
  const attempt = async (step: { readonly file: FileOf<unknown> }, run: () => Promise<void>): Promise<void> => {
    if (!(await isApplied(step.file.path, target, run))) overtaken.push(step.file.name);
  };
  // A change of its tool would be a part of what an overtaken assistant does not get.
  const isOvertaken = ({ file }: Step<ToolSettings>): boolean =>
    plan.assistants.some((step) => overtaken.includes(step.file.name) && step.file.settings.tools.includes(file.name));
  for (const step of plan.assistants)
    await attempt(step, async () => {
      const id = await applyAssistant(step, toolOf, target);
      if (id !== null) assistantIds.set(step.file.name, id);
    });
  const created = new Map(
    plan.assistants.flatMap(({ outcome, file: { name } }) => {
      const id = assistantIds.get(name);
      return outcome === 'create' && id !== undefined ? [[name, id] as const] : [];
    }),
  );
  for (const [name, id] of await keepFirst(`${workspace}/assistants`, created, client)) {
    if (id !== created.get(name)) overtaken.push(name);
    assistantIds.set(name, id);
  }
  for (const step of plan.tools)
    if (step.outcome === 'change' && !isOvertaken(step))
      await attempt(step, () => changeTool(step.file, step.stored, step.changes, target));
  const testsOf = (assistant: string): string =>
    `${workspace}/assistants/${segment(idFrom(assistantIds)(assistant))}/tests`;
  const testIds = new Map<string, Map<string, string>>();
  for (const step of plan.tests) {
    const { assistant, title } = step.file.settings;
    if (overtaken.includes(assistant)) continue;
    await attempt(step, async () => {
      const id = await applyTest(step, testsOf(assistant), client);
      if (id !== null) testIds.set(assistant, (testIds.get(assistant) ?? new Map()).set(title, id));
    });
  }
  for (const [assistant, ids] of testIds)
    for (const [title, id] of await keepFirst(testsOf(assistant), ids, client))
      if (id !== ids.get(title)) overtaken.push(testName(assistant, title));
  return { ...(await settle(plan, publish, target, overtaken)), overtaken };
}

/**
 * Names of assistants, tools and tests are not unique: of two that two commands created at once, the one with the lower
 * id stays. `path` lists them. Resolves with the ids by their names.
 */
async function keepFirst(
  path: string,
  made: ReadonlyMap<string, string>,
  client: ConsoleClient,
): Promise<ReadonlyMap<string, string>> {
  const first = new Map(made);
  if (made.size === 0) return first;
  for await (const { id, name } of client.all<{ readonly id: string; readonly name: string }>(path))
    if (id < (first.get(name) ?? '')) first.set(name, id);
  for (const [name, id] of made) if (first.get(name) !== id) await client.delete(`${path}/${segment(id)}`);
  return first;
}

/** Runs a write; false where the draft is not the expected one any more. A refused field is named with its line. */
async function isApplied(path: string, { folder }: Target, run: () => Promise<void>): Promise<boolean> {
  try {
    await run();
    return true;
  } catch (error) {
    if (error instanceof Overtaken) return false;
    if (!(error instanceof AdvisedFailure)) throw error;
    if (error.answer.code === 'draft_changed') return false;
    const file = folder.yaml.get(path);
    throw file === undefined || error.answer.field === null ? error : refused(file, error.answer.field, error.message);
  }
}

/** Looks names up that `checkReferences` has found before. */
const idFrom =
  (ids: ReadonlyMap<string, string>): IdOf =>
  (name) =>
    ids.get(name) ?? '';

async function createTool(step: Step<ToolSettings>, target: Target): Promise<string> {
  const { client, workspace } = target;
  const { functions, ...body } = bodyOfTool(step.file.settings, idFrom(target.state.credentials));
  const isMcp = step.file.settings.kind === 'mcp';
  let id = '';
  await isApplied(step.file.path, target, async () => {
    const path = `${workspace}/tools`;
    const made = await client.post<ToolView>(path, { name: step.file.name, ...body, ...(!isMcp && { functions }) });
    id = made.body.id;
    if (!isMcp || step.file.settings.functions.length === 0) return;
    // The list of an MCP server comes from the server alone.
    await client.post(`${path}/${segment(id)}/refresh`);
    await client.patch(`${path}/${segment(id)}`, { functions });
  });
  return id;
}

async function changeTool(
  file: FileOf<ToolSettings>,
  stored: Stored<ToolSettings>,
  changes: readonly Change[],
  target: Target,
): Promise<void> {
  const body = bodyOfTool(file.settings, idFrom(target.state.credentials));
  const fields = fieldsOf(changes);
  await target.client.patch(
    `${target.workspace}/tools/${segment(stored.id)}`,
    changed(body, fields),
    `"${stored.digest}"`,
  );
}

const fieldsOf = (changes: readonly Change[]): Set<string> =>
  new Set(changes.flatMap(({ path }) => path.split('.', 1)));

const bodyFields: Readonly<Record<string, string>> = { credential: 'credential_id', tools: 'tool_ids' };

const changed = (body: Readonly<Record<string, unknown>>, fields: ReadonlySet<string>): object =>
  Object.fromEntries([...fields].map((field) => bodyFields[field] ?? field).map((field) => [field, body[field]]));

/** Resolves with the id of an assistant that it creates. */
async function applyAssistant(step: AssistantStep, tool: IdOf, target: Target): Promise<string | null> {
  const { client, workspace } = target;
  const { file, stored, outcome, changes } = step;
  if (outcome !== 'create' && outcome !== 'change') return null;
  const body = bodyOfAssistant(file.settings, { tool, credential: idFrom(target.state.credentials) });
  if (stored === null) {
    return (await client.post<ConsoleAssistantView>(`${workspace}/assistants`, { name: file.name, ...body })).body.id;
  }
  const fields = fieldsOf(changes);
  // The prompt is a setting of the model.
  const model = fields.delete('prompt') || fields.has('model') ? { model: modelChanges(step, body.model) } : {};
  fields.delete('model');
  const path = `${workspace}/assistants/${segment(stored.id)}`;
  await client.patch(path, { ...changed(body, fields), ...model }, `"${stored.digest}"`);
  return null;
}

/**
 * A test takes no `If-Match`: it is read again before it is changed, and left where somebody else has changed it. `path`
 * lists the tests of its assistant. Resolves with the id of a test that it creates.
 */
async function applyTest(
  { file, stored, outcome }: Step<TestSettings>,
  path: string,
  client: ConsoleClient,
): Promise<string | null> {
  if (outcome === 'create') return (await client.post<TestView>(path, bodyOfTest(file.settings))).body.id;
  if (outcome !== 'change') return null;
  const own = `${path}/${segment(stored.id)}`;
  const { body } = await client.get<TestView>(own);
  if (storedTest(body, file.settings.assistant).digest !== stored.digest) throw new Overtaken();
  await client.patch(own, bodyOfTest(file.settings));
  return null;
}

/** Somebody else has changed a test since it was read. */
class Overtaken extends Error {}

/** The settings of the model that differ; provider, name and credential together, as they are checked. */
function modelChanges({ changes }: AssistantStep, model: Readonly<Record<string, unknown>>): object {
  const paths = changes.map(({ path }) => path);
  const names = paths.filter((path) => path.startsWith('model.')).map((path) => path.slice('model.'.length));
  const isOther = names.some((name) => ['provider', 'name', 'credential'].includes(name));
  const { provider, name, credential_id } = model;
  return {
    ...changed(model, new Set(names)),
    ...(isOther && { provider, name, credential_id }),
    ...(paths.includes('prompt') && { system_prompt: model['system_prompt'] }),
  };
}

/**
 * Reads the installation again, and publishes drafts that are as their files say. A digest goes into a file only if the
 * draft with this digest is what the file describes: an edit of somebody else stays a conflict.
 */
async function settle(
  plan: Plan,
  publish: boolean,
  target: Target,
  overtaken: string[],
): Promise<Pick<CarriedOut, 'published' | 'digests'>> {
  const { client, workspace, folder } = target;
  const after = planOf(folder.files, (await readWorkspace(target)).installation, { force: true, publish });
  const digests = new Map<string, string>();
  const published: string[] = [];
  const steps: readonly Step<ToolSettings | AssistantSettings | TestSettings>[] = [
    ...after.tools,
    ...after.assistants,
    ...after.tests,
  ];
  for (const { outcome, file, stored } of steps) if (outcome === 'same') digests.set(file.path, stored.digest);
  const isDone = new Set(plan.assistants.filter(({ outcome }) => outcome !== 'conflict').map(({ file }) => file.name));
  const isOfOthers = (name: string): boolean =>
    after.tools.some(({ file, outcome }) => file.name === name && outcome !== 'same');
  for (const step of after.assistants) {
    const { file, stored, outcome } = step;
    if (!step.publish || outcome !== 'same' || !isDone.has(file.name) || overtaken.includes(file.name)) continue;
    if (file.settings.tools.some(isOfOthers)) continue;
    const wasPublished = await isApplied(file.path, target, async () => {
      const path = `${workspace}/assistants/${segment(stored.id)}`;
      await withTestAdvice(client, path, () =>
        client.post<ConsoleAssistantView>(`${path}/publish`, {}, undefined, `"${stored.digest}"`),
      );
      published.push(file.name);
    });
    if (!wasPublished) overtaken.push(file.name);
  }
  return { digests, published };
}

const failureIn = ({ yaml }: Folder, path: string, keys: readonly string[], message: string): CommandFailure =>
  yaml.get(path)?.failure(keys, message) ?? new CommandFailure(message);

/** Rejects what the installation cannot have, before anything is written. */
export function checkReferences(plan: Plan, { folder, state }: Pick<Target, 'folder' | 'state'>): void {
  const tools = new Set([
    ...folder.files.tools.map(({ name }) => name),
    ...state.installation.tools.map(({ name }) => name),
  ]);
  const check = (path: string, name: string | null, keys: readonly string[]): void => {
    if (name !== null && !state.credentials.has(name))
      throw failureIn(folder, path, keys, `No credential of the workspace is called "${name}".`);
  };
  const assistants = new Set([
    ...folder.files.assistants.map(({ name }) => name),
    ...state.installation.assistants.map(({ name }) => name),
  ]);
  for (const { file } of plan.tests)
    if (!assistants.has(file.settings.assistant))
      throw failureIn(
        folder,
        file.path,
        ['assistant'],
        `No assistant is called "${file.settings.assistant}", in the files or the workspace.`,
      );
  for (const { file, stored } of plan.tools) {
    check(file.path, file.settings.credential, ['credential']);
    if (stored !== null && stored.settings.kind !== file.settings.kind)
      throw failureIn(folder, file.path, ['kind'], `The kind of the tool "${file.name}" cannot change.`);
  }
  for (const { file } of plan.assistants) {
    const { model, voice, tools: names } = file.settings;
    check(file.path, model.credential, ['model', 'credential']);
    for (const [index, { credential }] of model.fallbacks.entries())
      check(file.path, credential, ['model', 'fallbacks', `${index}`, 'credential']);
    check(file.path, voice?.credential ?? null, ['voice', 'credential']);
    const unknown = names.findIndex((name) => !tools.has(name));
    if (unknown >= 0)
      throw failureIn(
        folder,
        file.path,
        ['tools', `${unknown}`],
        `No tool is called "${names[unknown]}", in the files or the workspace.`,
      );
  }
}

/** Rejects names of the files that two rows of the installation have. */
export function checkNames({ folder, state }: Pick<Target, 'folder' | 'state'>): void {
  const { assistants, tools, tests } = state.installation;
  const wanted = new Set([
    ...folder.files.tools.map(({ name }) => name),
    ...folder.files.assistants.flatMap(({ settings }) => settings.tools),
  ]);
  const twins = (rows: readonly Stored<unknown>[], names: ReadonlySet<string>, nouns: string): void => {
    for (const name of names) {
      const ids = rows.filter((row) => row.name === name).map(({ id }) => id);
      if (ids.length > 1)
        throw new CommandFailure(
          `Several ${nouns} are called "${name}": ${ids.join(', ')}. The files name each by its name: rename all but one.`,
        );
    }
  };
  const named = [
    ...folder.files.assistants.map(({ name }) => name),
    ...folder.files.tests.map(({ settings }) => settings.assistant),
  ];
  twins(assistants, new Set(named), 'assistants');
  twins(tools, wanted, 'tools');
  twins(tests, new Set(folder.files.tests.map(({ name }) => name)), 'tests');
}
