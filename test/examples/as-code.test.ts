/** The steps of the example's workflow, as its runner would run them: a pull request, a merge, and the next one. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmod, cp, mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import t from 'tap';
import { parse } from 'yaml';
import { openHouse } from '../api/house.ts';
import { temporaryFolder } from '../folders.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));
const example = join(root, 'examples', 'as-code');

interface Workflow {
  readonly jobs: Readonly<
    Record<string, { readonly steps: readonly { readonly name?: string; readonly run?: string }[] }>
  >;
}

/** Runs a script as the runner does, and resolves with its exit code and output. */
async function shell(script: string, cwd: string, env: Record<string, string>) {
  const child = spawn('bash', ['-eo', 'pipefail', '-c', script], { cwd, env, stdio: ['ignore', 'pipe', 'pipe'] });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) stream.setEncoding('utf8').on('data', (text) => (output += text));
  const [code] = await once(child, 'close');
  return { code, output };
}

t.test('a pull request is tested in staging, a merge is published, and its digests are committed', async (t) => {
  const house = await openHouse(t);
  const folder = await temporaryFolder(t);
  const [bin, clone] = [join(folder, 'bin'), join(folder, 'clone')];
  await mkdir(bin);
  await writeFile(join(bin, 'parley'), `#!/bin/sh\nexec '${process.execPath}' '${root}src/install/start.mjs' "$@"\n`);
  await chmod(join(bin, 'parley'), 0o755);
  const env = {
    ...{ PATH: `${bin}:${process.env['PATH']}`, HOME: folder, NODE_V8_COVERAGE: '' },
    ...{ PARLEY_URL: house.url, PARLEY_OPERATOR_TOKEN: house.operatorToken },
  };
  const must = async (script: string, cwd: string) => {
    const { code, output } = await shell(script, cwd, env);
    if (code !== 0) throw new Error(`${script}: exit ${code}: ${output}`);
    return output;
  };
  await must('git init --quiet --bare --initial-branch main origin.git && git clone --quiet origin.git clone', folder);
  await cp(join(example, 'assistants'), join(clone, 'assistants'), { recursive: true });
  const commit = 'git config user.name a && git config user.email a@example.com && git add . && git commit -qm files';
  await must(`git checkout -q -B main && ${commit} && git push -q --set-upstream origin main`, clone);
  await house.console('/workspaces', { body: { name: 'staging' } });

  const workflow = parse(await readFile(join(example, 'workflow.yml'), 'utf8')) as Workflow;
  const scripts = (job: string) =>
    workflow.jobs[job]!.steps.flatMap(({ name, run }) => (run === undefined || name === 'Install parley' ? [] : [run]));
  const run = async (job: string) => {
    let output = '';
    for (const script of scripts(job)) output += await must(script, clone);
    return output;
  };
  t.match(
    await run('check'),
    /Plan: 3 to create[^]*passed  It greets[^]*has passed: 1 test;[^]*Published "Support"\./,
    'a pull request',
  );
  t.match(await readFile(join(clone, 'reports', 'support.xml'), 'utf8'), /<testcase name="It greets"/);
  const assistants = `/workspaces/${house.workspaceId}/assistants`;
  const named = async () =>
    (await house.console(assistants)).json.data.find((one: { name: string }) => one.name === 'Support');
  t.equal(await named(), undefined, 'has changed staging alone');
  await must('git checkout -q -- assistants', clone);

  await must("sed -i 's/- Support/- Sales/' assistants/tests/support-greets.yaml", clone);
  const failing = await run('check').catch(({ message }: Error) => message);
  t.match(failing, /tests run Support[^]*exit 1[^]*expected  contains: Sales/, 'a pull request whose test fails');
  await must('git checkout -q -- assistants', clone);

  t.match(await run('apply'), /Published "Support"\./, 'a merge');
  const published = await named();
  t.match(published, { status: 'published', version: 1, model: { system_prompt: /^You answer questions/ } });
  const pushed = await must('git show origin/main:assistants/assistants/support.yaml', clone);
  t.match(pushed, `digest: ${published.draft.digest}`, 'its digest is pushed');

  await must(`echo 'Be friendly.' >> assistants/assistants/support.md && ${commit}`, clone);
  t.match(await run('apply'), /prompt: 3 lines .* → 4 lines/, 'the next merge');
  t.match(await named(), { version: 2, model: { system_prompt: /Be friendly\.\n$/ } });

  await house.console(`${assistants}/${published.id}`, { method: 'PATCH', body: { greeting: 'By hand' } });
  await must(`echo 'Be brief.' >> assistants/assistants/support.md && ${commit}`, clone);
  const [plan = ''] = scripts('check');
  t.match(
    await shell(plan, clone, env),
    { code: 1, output: /! conflict assistant "Support"/ },
    'an edit in the console',
  );
  t.match(await named(), { version: 2, greeting: 'By hand' }, 'is kept');
});
