/** The folder of `parley pull` and `parley apply`: a file for each assistant, tool and prompt. */
import { createHash } from 'node:crypto';
import { lstat, mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { Failure } from '../../base/errors.ts';
import { CreateAssistantBody, CreateTestBody, CreateToolBody, shape } from '../../wire/wire.ts';
import { CommandFailure, UsageFailure } from '../exit.ts';
import type { FileOf, Files } from './plan.ts';
import {
  assistantOfContent,
  bodyOfAssistant,
  bodyOfTest,
  bodyOfTool,
  testName,
  testOfContent,
  toolOfContent,
  type AssistantSettings,
  type Json,
  type TestSettings,
  type ToolSettings,
} from './settings.ts';
import { parseYaml, withDigest, yamlText, type YamlFile } from './yaml.ts';
import { messageOfThrown } from '../../base/thrown.ts';
import { rangeOf } from '../ranges.ts';

export type Kind = 'assistants' | 'tools' | 'tests';

const nouns = { assistants: 'assistant', tools: 'tool', tests: 'test' } as const;

/** The name in plans of the assistant, the tool or the test that a file describes. */
const nameOf = (kind: Kind, content: Json): string =>
  kind === 'tests' ? testName(content['assistant'], content['name']) : (content['name'] as string);

/** The files of a folder, with their texts for messages and new digests. */
export interface Folder {
  readonly path: string;
  readonly files: Files;
  readonly yaml: ReadonlyMap<string, YamlFile>;
}

const fieldsOf = {
  assistants: new Set(
    'name digest model greeting visitor_fields voice max_call_seconds tools tool_rounds_max'.split(' '),
  ),
  model: new Set(
    'provider name credential prompt_file history_tokens_max temperature output_tokens_max reasoning fallbacks'.split(
      ' ',
    ),
  ),
  choice: new Set(['provider', 'name', 'credential']),
  voice: new Set(['provider', 'name', 'transcription_name', 'voice', 'credential']),
  visitorField: new Set(['name', 'label', 'type', 'required']),
  tools: new Set(
    'name digest kind url credential timeout_seconds repeatable approval show calls_per_minute functions'.split(' '),
  ),
  tests: new Set('assistant name digest visitor metadata steps tool_results repeat'.split(' ')),
  step: new Set(['message', 'expect']),
  expect: new Set('contains not_contains calls no_calls stop_reason characters_max judge'.split(' ')),
  function: new Set(['name', 'description', 'parameters', 'enabled', 'approval', 'show']),
  mcpFunction: new Set(['name', 'enabled', 'approval', 'show']),
};

const bodies = { assistants: shape(CreateAssistantBody), tools: shape(CreateToolBody), tests: shape(CreateTestBody) };

/** Reads all files of the folder. Rejects with the file and the line of the first fault. */
export async function readFolder(path: string): Promise<Folder> {
  const yaml = new Map<string, YamlFile>();
  const found = await lstat(path).catch(() => null);
  if (!found?.isDirectory()) throw new UsageFailure(`There is no folder ${path}. Write one with parley pull.`);
  const read = async <Settings>(kind: Kind, settingsOf: (file: YamlFile) => Promise<Settings>) => {
    const files: FileOf<Settings>[] = [];
    for (const name of await yamlNames(path, kind)) {
      const file = parseYaml(join(kind, name), await textOf(path, join(kind, name)));
      yaml.set(file.path, file);
      checkFields(file, kind);
      const settings = await settingsOf(file);
      files.push({
        path: file.path,
        name: nameOf(kind, file.content),
        digest: (file.content['digest'] as string | undefined) ?? null,
        settings,
      });
    }
    refuseTwins(kind, files, yaml);
    return files;
  };
  const tools = await read('tools', async (file) => checkedTool(file));
  const assistants = await read('assistants', (file) => checkedAssistant(path, file));
  const tests = await read('tests', async (file) => checkedTest(file));
  return { path, files: { assistants, tools, tests }, yaml };
}

async function yamlNames(path: string, kind: Kind): Promise<string[]> {
  const names = await readdir(join(path, kind)).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return [];
    throw new CommandFailure(`${join(path, kind)} cannot be read (${error.code}).`);
  });
  return names.filter((name) => /^[^.].*\.ya?ml$/.test(name)).toSorted();
}

const fileBytesMax = 4 * 1024 * 1024;

/** A file's text, byte for byte. A symbolic link could name a file outside the folder. */
async function textOf(folder: string, path: string): Promise<string> {
  const whole = join(folder, path);
  const found = await lstat(whole).catch(() => null);
  if (found === null) throw new CommandFailure(`${path}: There is no such file.`);
  if (!found.isFile()) throw new CommandFailure(`${path}: It must be a file, and no link to one.`);
  if (found.size > fileBytesMax) throw new CommandFailure(`${path}: The file has more than ${fileBytesMax} bytes.`);
  const bytes = await readFile(whole).catch((error: NodeJS.ErrnoException) => {
    throw new CommandFailure(`${path}: The file cannot be read (${error.code}).`);
  });
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    throw new CommandFailure(`${path}:${lineOfFault(bytes)}: The file is not UTF-8.`);
  }
}

function lineOfFault(bytes: Buffer): number {
  const text = bytes.toString('utf8');
  const before = text.slice(0, [...text.matchAll(/\ufffd/g)][0]?.index ?? 0);
  return before.split('\n').length;
}

const listOf = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : []);
const isMap = (value: unknown): value is Json => typeof value === 'object' && value !== null && !Array.isArray(value);

/** Refuses fields that files do not have: a misspelt one would otherwise be its default. */
function checkFields(file: YamlFile, kind: Kind): void {
  const { content } = file;
  const check = (value: unknown, known: ReadonlySet<string>, path: readonly string[]): void => {
    if (!isMap(value)) return;
    const wrong = Object.keys(value).find((name) => !known.has(name));
    if (wrong !== undefined)
      throw file.failure([...path, wrong], `The field \`${[...path, wrong].join('.')}\` is unknown.`);
  };
  check(content, fieldsOf[kind], []);
  for (const field of ['name', 'digest'])
    if (content[field] !== undefined && typeof content[field] !== 'string')
      throw file.failure([field], `The field \`${field}\` must be a text.`);
  if (kind === 'tests') {
    if (typeof content['assistant'] !== 'string')
      throw file.failure(['assistant'], 'The field `assistant` must be the name of an assistant.');
    for (const [index, each] of listOf(content['steps']).entries()) {
      check(each, fieldsOf.step, ['steps', `${index}`]);
      if (isMap(each)) check(each['expect'], fieldsOf.expect, ['steps', `${index}`, 'expect']);
    }
    return;
  }
  if (kind === 'tools') {
    const known = content['kind'] === 'mcp' ? fieldsOf.mcpFunction : fieldsOf.function;
    for (const [index, each] of listOf(content['functions']).entries()) check(each, known, ['functions', `${index}`]);
    return;
  }
  check(content['model'], fieldsOf.model, ['model']);
  check(content['voice'], fieldsOf.voice, ['voice']);
  const fallbacks = isMap(content['model']) ? listOf(content['model']['fallbacks']) : [];
  for (const [index, each] of fallbacks.entries()) check(each, fieldsOf.choice, ['model', 'fallbacks', `${index}`]);
  for (const [index, each] of listOf(content['visitor_fields']).entries())
    check(each, fieldsOf.visitorField, ['visitor_fields', `${index}`]);
}

const same = (name: string): string => name;

function checkedTool(file: YamlFile): ToolSettings {
  const { content } = file;
  checkContainers(file, ['functions'], []);
  const settings = toolOfContent(content);
  validate(file, 'tools', { name: content['name'], ...bodyOfTool(settings, textual) });
  return settings;
}

function checkedTest(file: YamlFile): TestSettings {
  const { content } = file;
  checkContainers(file, ['steps'], ['visitor', 'metadata', 'tool_results']);
  if (content['steps'] == null) throw file.failure([], 'The field `steps` is missing.');
  for (const [name, results] of Object.entries((content['tool_results'] ?? {}) as Json))
    if (!Array.isArray(results) || !results.every(isMap)) throw wrong(file, `tool_results.${name}`);
  const settings = testOfContent(content);
  validate(file, 'tests', bodyOfTest(settings));
  return settings;
}

async function checkedAssistant(folder: string, file: YamlFile): Promise<AssistantSettings> {
  const { content } = file;
  checkContainers(file, ['visitor_fields', 'tools'], ['model', 'voice']);
  const model = (content['model'] ?? {}) as Json;
  if (model['fallbacks'] != null && !Array.isArray(model['fallbacks'])) throw wrong(file, 'model.fallbacks');
  const settings = assistantOfContent(content, await promptOf(folder, file, model['prompt_file']));
  validate(file, 'assistants', {
    name: content['name'],
    ...bodyOfAssistant(settings, { tool: same, credential: textual }),
  });
  return settings;
}

/** Stands in for the id of a credential while the rest is checked; another value than a text is its own fault. */
const textual = (name: unknown): string => name as string;

/** Refuses lists and maps that are something else: the defaults of their items are filled in before the rest is checked. */
function checkContainers({ content, failure }: YamlFile, lists: readonly string[], maps: readonly string[]): void {
  for (const name of lists) {
    const value = content[name];
    if (value == null) continue;
    if (!Array.isArray(value)) throw failure([name], `The field \`${name}\` must be a list.`);
    const odd = name === 'tools' ? -1 : value.findIndex((item) => !isMap(item));
    if (odd >= 0) throw failure([name, `${odd}`], `The field \`${name}.${odd}\` must be a map.`);
  }
  for (const name of maps)
    if (content[name] != null && !isMap(content[name])) throw failure([name], `The field \`${name}\` must be a map.`);
}

const wrong = (file: YamlFile, field: string): CommandFailure =>
  file.failure(field.split('.'), `The field \`${field}\` has an invalid value.`);

async function promptOf(folder: string, file: YamlFile, name: unknown): Promise<string | null> {
  if (name == null) return null;
  if (typeof name !== 'string' || name === '' || /[\\/\0]/.test(name) || name.startsWith('.'))
    throw file.failure(
      ['model', 'prompt_file'],
      'The field `model.prompt_file` must be the name of a file in the same folder.',
    );
  try {
    return await textOf(folder, join('assistants', name));
  } catch (error) {
    if (/There is no such file/.test(messageOfThrown(error)))
      throw file.failure(['model', 'prompt_file'], `There is no file ${join('assistants', name)}.`);
    throw error;
  }
}

/** Runs the API's own checks over the file, and names the line of the field that they refuse. */
function validate(file: YamlFile, kind: Kind, body: object): void {
  try {
    bodies[kind].parse(body);
  } catch (error) {
    if (!(error instanceof Failure)) throw error;
    const field = error.param ?? '';
    throw refused(file, field, error.message + rangeOf(bodies[kind].schema, field));
  }
}

const fileNames: Readonly<Record<string, string>> = {
  credential_id: 'credential',
  tool_ids: 'tools',
  system_prompt: 'prompt_file',
};

/** The failure of a file as the API words it, with the field's name in the file. */
export function refused(file: YamlFile, field: string, message: string): CommandFailure {
  const keys = field
    .split(/[.[\]]+/)
    .filter(Boolean)
    .map((key) => fileNames[key] ?? key);
  const name = keys.join('.');
  return file.failure(keys, field === '' ? message : message.replace(`\`${field}\``, `\`${name}\``));
}

function refuseTwins(kind: Kind, files: readonly FileOf<unknown>[], yaml: ReadonlyMap<string, YamlFile>): void {
  const paths = new Map<string, string>();
  for (const { name, path } of files) {
    const other = paths.get(name);
    if (other !== undefined)
      throw yaml.get(path)!.failure(['name'], `${other} names the ${nouns[kind]} "${name}" as well.`);
    paths.set(name, path);
  }
}

export interface Written {
  readonly name: string;
  readonly content: (promptFile: string) => Json;
  readonly prompt: string | null;
}

/**
 * Writes files, and returns the paths of those that changed and of those that none of the given names has. An existing
 * file of a name stays where it is, with its comments if nothing but its digest changes.
 */
export async function writeFiles(
  folder: string,
  kind: Kind,
  rows: readonly Written[],
): Promise<{ readonly written: string[]; readonly left: string[] }> {
  await mkdir(join(folder, kind), { recursive: true });
  const existing = await existingFiles(folder, kind);
  const names = fileNamesOf(
    rows.map(({ name }) => name),
    nouns[kind],
  );
  const written: string[] = [];
  const kept = new Set<string>();
  const prompts = new Set<string>();
  for (const [index, { name, content, prompt }] of rows.entries()) {
    const before = existing.find((file) => nameOf(kind, file.content) === name);
    const path = before?.path ?? join(kind, `${names[index]}.yaml`);
    kept.add(path);
    const base = path.slice(kind.length + 1).replace(/\.ya?ml$/, '');
    const named = [base, `${base}-prompt`].map((start) => start + promptEnding);
    // Two assistants may share a prompt until it differs.
    const promptFile = [ownPrompt(before) ?? named[0]!, ...named].find((file) => !prompts.has(file))!;
    if (prompt !== null) prompts.add(promptFile);
    const text = textAfter(before, content(promptFile));
    if (await writeIfOther(join(folder, path), text)) written.push(path);
    if (prompt !== null && (await writeIfOther(join(folder, kind, promptFile), prompt)))
      written.push(join(kind, promptFile));
  }
  return { written, left: existing.map(({ path }) => path).filter((path) => !kept.has(path)) };
}

/** The files of the folder that can be read: a broken one is overwritten where its name is needed. */
async function existingFiles(folder: string, kind: Kind): Promise<YamlFile[]> {
  const found: YamlFile[] = [];
  for (const name of await yamlNames(folder, kind)) {
    try {
      found.push(parseYaml(join(kind, name), await textOf(folder, join(kind, name))));
    } catch (error) {
      if (!(error instanceof CommandFailure)) throw error;
    }
  }
  return found;
}

/** The ending of a prompt's file: the prompt alone, as Markdown. */
const promptEnding = '.md';

function ownPrompt(file: YamlFile | undefined): string | null {
  const model = file?.content['model'];
  const name = isMap(model) ? model['prompt_file'] : null;
  return typeof name === 'string' && /^[^.\\/\0][^\\/\0]*\.md$/.test(name) ? name : null;
}

function textAfter(before: YamlFile | undefined, content: Json): string {
  if (before === undefined) return yamlText(content);
  if (isDeepStrictEqual(before.content, content)) return before.text;
  const isSame = isDeepStrictEqual({ ...before.content, digest: content['digest'] }, content);
  return isSame ? withDigest(before.text, content['digest'] as string) : yamlText(content);
}

export async function writeIfOther(path: string, text: string): Promise<boolean> {
  const bytes = Buffer.from(text);
  const found = await lstat(path).catch(() => null);
  if (found !== null && !found.isFile()) throw new CommandFailure(`${path} is no file.`);
  if (found !== null && bytes.equals(await readFile(path))) return false;
  await writeFile(path, bytes);
  return true;
}

/** Names of devices on Windows. */
const reserved = /^(?:con|prn|aux|nul|com\d|lpt\d)$/;

const plainName = (name: string): string =>
  name
    .normalize('NFKD')
    .replace(/[\u0300-\u036f]/g, '')
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '-')
    .replace(/^-|-$/g, '')
    .slice(0, 60);

/** Safe names of files: equal ones, and those that nothing is left of, have a part of the name's digest. */
export function fileNamesOf(names: readonly string[], fallback: string): string[] {
  const plain = names.map(plainName);
  return plain.map((base, index) => {
    const isPlain = base !== '' && !reserved.test(base) && plain.indexOf(base) === plain.lastIndexOf(base);
    if (isPlain) return base;
    return `${base || fallback}-${createHash('sha256').update(names[index]!).digest('hex').slice(0, 8)}`;
  });
}
