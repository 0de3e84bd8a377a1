/** The one table of what the scripts take: their heads name it, their bodies read it, and nothing else. */
import { readdirSync, readFileSync } from 'node:fs';
import t from 'tap';
import { loadScripts } from '../../src/store/redis/scripts.ts';
import { argumentLines, argumentsOf, gatheredLines, gatheredSteps, constantLines, constantNames, luaName, steps, type StepName } from '../../src/store/redis/steps.ts';

const folder = new URL('../../src/store/redis/steps/', import.meta.url);
const textOf = (name: string): string => readFileSync(new URL(`${name}.lua`, folder), 'utf8');
const names = Object.keys(steps) as StepName[];

/** The comment lines that a file begins with, one line for each sentence that names something. */
const headOf = (text: string): string[] =>
  /^(?:--.*\n)*/.exec(text)![0].replace(/\n-- {3,}/g, ' ').split('\n').filter(Boolean);

/** The words that a head gives after a name. */
const said = (head: readonly string[], name: string): string | undefined => head.find((line) => line.startsWith(`-- ${name}: `))?.slice(`-- ${name}: `.length);

/** A script without its comments and with all of its texts empty. */
const bare = (text: string): string => text.replace(/--.*/g, '').replace(/'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*"/g, "''");

const words = /(?<![\w.:])[A-Za-z_]\w*/g;
const keywords = new Set('and break do else elseif end false for function if in local nil not or repeat return then true until while'.split(' '));
const provided = new Set('redis cjson cmsgpack math string table tonumber unpack ipairs pairs KEYS ARGV'.split(' '));

/** The names that a script makes: its locals, its functions with their parameters, its loops' variables. */
function madeIn(text: string): Set<string> {
  const made = new Set<string>();
  const add = (list: string): void => (list.match(/\w+/g) ?? []).forEach((name) => made.add(name));
  for (const [, list] of text.matchAll(/\blocal (?!function)([\w, ]+)/g)) add(list!);
  for (const [, name, list] of text.matchAll(/\bfunction (\w*)\(([\w, .]*)\)/g)) add(`${name} ${list}`);
  for (const [, list] of text.matchAll(/\bfor ([\w, ]+?)(?: in\b| =)/g)) add(list!);
  return made;
}

/** Names that a script reads and nothing gives it. A field in a table that is written out is none. */
function missingIn(text: string, given: ReadonlySet<string>): string[] {
  const made = madeIn(text);
  const read = text.replace(/(?<=[{,] *)\w+(?= = )/g, '').match(words) ?? [];
  return [...new Set(read)].filter((name) => !made.has(name) && !keywords.has(name) && !provided.has(name) && !given.has(name));
}

const shared = bare(constantLines + textOf('prelude'));
/** What it gives the steps: not what its functions keep to themselves. */
const sharedNames = new Set([...shared.matchAll(/^local (?:function )?(\w+)/gm)].map(([, name]) => name!));

/** What is wrong with a step's file, for these arguments. */
function faultsOf(text: string, step: StepName, ofTable: readonly string[] = steps[step]): string[] {
  const head = headOf(text);
  const listed = ofTable.map((name) => (name.startsWith('...') ? `...${luaName(name.slice(3))}` : luaName(name)));
  const locals = listed.map((name) => (name.startsWith('...') ? `${name.slice(3)}_at` : name));
  const body = bare(text);
  const faults = ['KEYS', 'Answer'].filter((name) => said(head, name) === undefined).map((name) => `its head does not name ${name}`);
  const argv = listed.length === 0 ? 'none.' : `${listed.join(', ')}.`;
  if (said(head, 'ARGV') !== argv) faults.push(`its head has ARGV: ${said(head, 'ARGV')}, the table ${argv}`);
  faults.push(...locals.filter((name) => !new RegExp(`(?<![\\w.:])${name}\\b`).test(body)).map((name) => `it does not read ${name}`));
  faults.push(...missingIn(body, new Set([...sharedNames, ...locals])).map((name) => `nothing gives it ${name}`));
  return faults;
}

t.test('each file is a step of the table, and each step has its file', async (t) => {
  const files = readdirSync(folder).filter((name) => name.endsWith('.lua')).map((name) => name.slice(0, -'.lua'.length));
  t.same(files.filter((name) => name !== 'prelude').sort(), [...names].sort());
});

t.test('heads and bodies have the names of the table, all of them and no others', async (t) => {
  for (const name of names) t.same(faultsOf(textOf(name), name), [], name);
  t.same(missingIn(shared, new Set()), []);
  t.same(constantNames.filter((name) => !names.some((step) => bare(textOf(step)).includes(name)) && !bare(textOf('prelude')).includes(name)), [], 'every constant is read');
  t.same(names.filter((name) => /^local [\w, ]+ = unpack\(ARGV/m.test(textOf(name))), [], 'no file takes its arguments itself');
});

t.test('a name that is missing or too many is found', async (t) => {
  const text = textOf('renew-turn');
  const [session, turn, epoch, owner, lease] = steps['renew-turn'];
  t.same(faultsOf(text, 'renew-turn', [session, turn, epoch, owner]), ['its head has ARGV: session, turn, epoch, owner, lease., the table session, turn, epoch, owner.', 'nothing gives it lease']);
  t.same(faultsOf(text.replace('owner, lease.', 'owner, lease, extra.'), 'renew-turn', [session, turn, epoch, owner, lease, 'extra']), ['it does not read extra']);
  t.same(faultsOf(text.replace(/-- Answer.*\n/, ''), 'renew-turn'), ['its head does not name Answer']);
  t.same(faultsOf(text.replace('session, turn, epoch', 'turn, session, epoch'), 'renew-turn').length, 1, 'the order counts');
  t.same(faultsOf(text.replace('held(flight', 'halt(flight'), 'renew-turn'), ['nothing gives it halt']);
});

t.test('arguments go in the order of the table, and the scripts have them under their names', async (t) => {
  const given = { lease: 5, owner: 'o', epoch: 1, turn: 't', session: 's' };
  t.same(argumentsOf('renew-turn', given), ['s', 't', 1, 'o', 5]);
  t.equal(argumentLines('renew-turn'), 'local session, turn, epoch, owner, lease = unpack(ARGV, 1, 5)\n');
  t.same(argumentsOf('take-budgets', { number: 3, count: 2, asked: ['requests', 60], lane: 'a/0', id: 'k' }), ['k', 'a/0', 3, 2, 'requests', 60]);
  t.equal(argumentLines('take-budgets'), 'local id, lane, number, count = unpack(ARGV, 1, 4)\nlocal asked_at = 5\n');
  t.equal(argumentLines('slots'), '');
  const scripts = loadScripts();
  t.same(names.filter((name) => scripts[name].source.startsWith(gatheredLines.first)), [...gatheredSteps], 'and of each call where several are sent as one');
  const { source } = scripts['create-record'];
  t.ok(source.startsWith('local BUDGET_UNIT = 60000\n'));
  t.match(source, /\nlocal kind, id, record, workspace_id, record_id, move = unpack\(ARGV, 1, 6\)\nif redis\.call\('HSETNX'/);
});

t.test('a script has the shared functions that it calls, and no others', async (t) => {
  const scripts = loadScripts();
  const definedIn = (source: string): string[] => [...source.matchAll(/^local function (\w+)/gm)].map(([, name]) => name!);
  const functions = definedIn(textOf('prelude'));
  const called = (source: string): string[] => functions.filter((name) => new RegExp(`(?<!function )\\b${name}\\(`).test(bare(source)));
  for (const name of names) t.same(definedIn(scripts[name].source).filter((each) => functions.includes(each)), called(scripts[name].source), name);
  t.same(definedIn(scripts['renew-turn'].source), ['at', 'now', 'int', 'held', 'slots_of', 'full', 'renewed'], 'and those that these call');
  for (const name of names) t.same(missingIn(bare(scripts[name].source), new Set()), [], `${name} has everything that it reads`);
  t.notOk(names.some((name) => /^ *--/m.test(scripts[name].source)), 'no script has comments');
});
