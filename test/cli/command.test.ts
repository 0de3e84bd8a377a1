/** The command's help, its refusals and its exit codes; a few as a process, from the built command. */
import { chmodSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { exitCode } from '../../src/cli/exit.ts';
import { startFailure, withFlags } from '../../src/cli/serve.ts';
import { readConfig, settings } from '../../src/base/config.ts';
import { chart, machineNames } from '../../src/http/charts.ts';
import about from '../../package.json' with { type: 'json' };
import { run, start } from './support.ts';

t.test('the help of serve lists every setting: flag, variable, default and description', async (t) => {
  const { code, stdout, stderr } = await run(['serve', '--help']);
  t.equal(code, 0);
  t.equal(stderr, '');
  const text = stdout.replace(/\s+/g, ' ');
  for (const { flag, variable, fallback, description } of settings) {
    t.ok(new RegExp(`${flag} [<[]`).test(text), flag);
    t.ok(text.includes(`${description} (${variable}${fallback === '' ? '' : `, default: ${fallback}`})`), variable);
  }
});

t.test('flags win over the environment, and a bare flag is 1', async (t) => {
  const config = readConfig(
    withFlags(
      { port: '1', synthetic: true, turnMsMax: '100', trustedProxies: '10.0.0.0/8' },
      { PORT: '2', HOST: '::1', PARLEY_SYNTHETIC: '0' },
    ),
  );
  t.match(config, { port: 1, host: '::1', synthetic: true, turnMsMax: 100, trustedProxies: ['10.0.0.0/8'] });
});

t.test('a setting that cannot be used is one line and exit code 2', async (t) => {
  t.strictSame(await start(t, ['serve'], { env: { PORT: 'eighty' } }).finished, {
    code: 2,
    stdout: '',
    stderr: 'parley: PORT must be a whole number from 0 to 65535, not "eighty".\n',
  });
  t.strictSame(await run(['serve', '--secret', 'short', '--synthetic']), {
    code: 2,
    stdout: '',
    stderr: 'parley: PARLEY_SECRET must have at least 32 characters.\n',
  });
  const nowhere = {
    code: 2,
    stdout: '',
    stderr: 'parley: PARLEY_STORE names a folder that cannot be used (ENOENT): /proc/not/there.\n',
  };
  if (process.platform === 'linux') t.strictSame(await run(['serve', '--store', 'lmdb:/proc/not/there']), nowhere);
  const file = join(t.testdir({ file: '' }), 'file');
  chmodSync(file, 0o700);
  t.strictSame(await run(['serve', '--store', `lmdb:${file}`]), {
    code: 2,
    stdout: '',
    stderr: `parley: PARLEY_STORE names a folder that cannot be used (ENOTDIR): ${file}.\n`,
  });
  t.strictSame(await run(['serve', '--synthetic', 'maybe']), {
    code: 2,
    stdout: '',
    stderr: 'parley: PARLEY_SYNTHETIC must be 0 or 1, not "maybe".\n',
  });
});

t.test('why a start failed is one sentence that says what to change', async (t) => {
  const said = (error: object) =>
    startFailure(Object.assign(new Error('listen EADDRINUSE: address already in use'), error), {
      host: '127.0.0.1',
      port: 8080,
    }).message;
  t.equal(
    said({ code: 'EADDRINUSE', syscall: 'listen' }),
    'PORT is 8080, which is in use on 127.0.0.1. Choose another with --port or PORT.',
  );
  t.equal(
    said({ code: 'EACCES', syscall: 'listen' }),
    'PORT is 8080, but this user may not listen on it. Choose another with --port or PORT.',
  );
  t.equal(said({ code: 'EADDRNOTAVAIL' }), 'HOST must be an address of this machine, not "127.0.0.1".');
  t.equal(
    said({ code: 'EACCES', syscall: 'mkdir', message: 'The folder ./data may not be written.' }),
    'The folder ./data may not be written.',
  );
});

t.test('a flag that is wrong is one line that names it, with its variable where it has one', async (t) => {
  const rest = 'Add --help to see how it is used.\n';
  t.strictSame(await run(['serve', '--port']), {
    code: 2,
    stdout: '',
    stderr: `parley: option '--port <number>' (PORT) argument missing. ${rest}`,
  });
  t.strictSame(await run(['serve', '--voice-folder']), {
    code: 2,
    stdout: '',
    stderr: `parley: option '--voice-folder <path>' (PARLEY_VOICE_FOLDER) argument missing. ${rest}`,
  });
  t.strictSame(await run(['serve', '--prot', '1']), {
    code: 2,
    stdout: '',
    stderr: `parley: unknown option '--prot' (Did you mean --port?). ${rest}`,
  });
  t.strictSame(await run(['serve', '--unheard-of']), {
    code: 2,
    stdout: '',
    stderr: `parley: unknown option '--unheard-of'. ${rest}`,
  });
  t.strictSame(await run(['keys', 'create']), {
    code: 2,
    stdout: '',
    stderr: `parley: missing required argument 'name'. ${rest}`,
  });
});

t.test('a port that is taken or forbidden is a wrong setting', async (t) => {
  for (const code of ['EADDRINUSE', 'EACCES'])
    t.equal(
      exitCode(startFailure(Object.assign(new Error('no'), { code, syscall: 'listen' }), { host: '::1', port: 80 })),
      2,
      code,
    );
});

t.test('--help prints every command and --version the version', async (t) => {
  const help = await run(['--help']);
  t.equal(help.code, 0);
  for (const name of [
    'serve',
    'chat',
    'speak',
    'listen',
    'voices',
    'assistants',
    'keys',
    'credentials',
    'pull',
    'apply',
    'tests',
    'webhooks',
    'sessions',
    'desk',
    'visitors',
    'usage',
    'workspaces',
    'console',
    'audit',
    'machines',
    'doctor',
  ])
    t.match(help.stdout, new RegExp(`^  ${name} `, 'm'));
  t.match(help.stdout, 'Exit codes: 0 done, 1 it failed, 2 it was called the wrong way');
  t.strictSame(await start(t, ['--version']).finished, { code: 0, stdout: `${about.version}\n`, stderr: '' });
});

t.test('wrong usage is exit code 2, with a suggestion', async (t) => {
  const unknown = await start(t, ['kyes']).finished;
  t.equal(unknown.code, 2);
  t.equal(unknown.stderr, "parley: unknown command 'kyes' (Did you mean keys?). Add --help to see how it is used.\n");
  t.equal((await run([])).code, 2);
  t.match(await run(['keys', 'list', '--limit', '0']), {
    code: 2,
    stderr: /--limit.*It must be a whole number from 1 to 100\./,
  });
  t.match(await run(['keys', 'list', '--url', 'ftp://x']), { code: 2, stderr: /It must be an http or https address/ });
});

t.test('`parley machines` prints every machine', async (t) => {
  const one = await run(['machines', 'session']);
  t.strictSame(one, { code: 0, stdout: `${chart('session', 'mermaid')}\n`, stderr: '' });
  const all = await run(['machines']);
  for (const name of machineNames) t.ok(all.stdout.includes(`%% ${name}\n${chart(name, 'mermaid')}`), name);
  const json = await run(['machines', '--format', 'json']);
  t.strictSame(
    JSON.parse(json.stdout),
    Object.fromEntries(machineNames.map((name) => [name, JSON.parse(chart(name, 'json'))])),
  );
  t.strictSame(await run(['machines', 'engine']), {
    code: 2,
    stdout: '',
    stderr: `parley: There is no machine "engine"; there are ${machineNames.join(', ')}.\n`,
  });
});

t.test('a reader that has seen enough is no failure', async (t) => {
  const command = start(t, ['machines']);
  command.stdout.destroy();
  t.match(await command.finished, { code: 0, stderr: '' });
});

t.test('a failure exits with its code although its output is unread', async (t) => {
  const command = start(t, ['serve'], { env: { PORT: 'eighty' } });
  command.stderr.destroy();
  t.match(await command.finished, { code: 2, stdout: '' });
});
