/** The documented unit under a real systemd, set up by the commands in its own comments. */
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import t, { type Test } from 'tap';
import { signalChild } from '../../src/base/signals.ts';
import { temporaryFolder } from '../folders.ts';
import { whyNoRedis } from '../store/redis-server.ts';

const clone = fileURLToPath(new URL('../..', import.meta.url));
const unit = join(clone, 'docs/many-processes/parley.service');
const boot = fileURLToPath(new URL('systemd/boot.sh', import.meta.url));

const isolate = ['--pid', '--mount', '--net', '--ipc', '--uts', '--cgroup', '--fork', '--mount-proc', '--kill-child'];

/** Reason for which systemd cannot be booted here, or false. */
function whyNoSystemd(): string | false {
  if (spawnSync('/lib/systemd/systemd', ['--version']).status !== 0) return 'systemd is not installed';
  const overlay =
    'mount -t tmpfs tmpfs /tmp && mkdir /tmp/u /tmp/w /tmp/m /tmp/c && mount -t overlay overlay -o lowerdir=/,upperdir=/tmp/u,workdir=/tmp/w /tmp/m && mount -t cgroup -o none,name=systemd cgroup /tmp/c';
  const able = process.getuid?.() === 0 && spawnSync('unshare', [...isolate, 'sh', '-c', overlay]).status === 0;
  return able ? false : 'a process may not mount what a systemd of its own needs here';
}

/** The commands in the unit's comments that contain a word. */
async function documented(word: string): Promise<string> {
  const lines = (await readFile(unit, 'utf8'))
    .split('\n')
    .filter((line) => line.startsWith('#   ') && line.includes(word));
  if (lines.length !== 1) throw new Error(`The unit has ${lines.length} commands with "${word}".`);
  return lines[0]!.slice(4);
}

/** The clone belongs to the user. Its packages are left out: there are many, and nothing writes to them. */
const owned =
  'cd /opt/parley && chown parley: . dist package.json package-lock.json && chown -R parley: src machines && cd /';

/** Waits for systemd itself; `ready` waits for the server, as long as it runs. */
const preamble = `
export SYSTEMD_IGNORE_CHROOT=1
systemctl() { command systemctl --no-pager "$@"; }
until systemctl show -P Version > /dev/null 2>&1; do sleep 0.1; done
ready() { until curl -fs http://127.0.0.1:8080/readyz; do systemctl is-active -q parley || { systemctl status -l parley; break; }; sleep 0.2; done; echo; }
`;

/** Runs a script in a booted systemd; resolves with the text of each of its sections, which begin with `== NAME`. */
async function within(t: Test, script: string): Promise<Readonly<Record<string, string>>> {
  const results = await temporaryFolder(t);
  const probe = join(results, 'probe.sh');
  await writeFile(probe, `${preamble}\n${script}`);
  const child = spawn('unshare', [...isolate, 'bash', boot, clone, unit, results, probe], {
    env: { PATH: process.env['PATH'], NODE: process.execPath },
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  let said = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => (said += text));
  t.teardown(() => signalChild(child, 'SIGKILL'));
  await once(child, 'close');
  const out = await readFile(join(results, 'out'), 'utf8').catch(() => '');
  t.comment(out + said);
  return Object.fromEntries(
    out
      .split(/^== /m)
      .slice(1)
      .map((section) => [section.slice(0, section.indexOf('\n')), section.slice(section.indexOf('\n') + 1).trim()]),
  );
}

t.test('the documented systemd unit runs an unprivileged server and stops it', { skip: whyNoSystemd() }, async (t) => {
  const found = await within(
    t,
    `
${await documented('useradd')}
${owned}
${await documented('install -m 600')}
systemctl start parley
echo '== ready'; ready
pid=$(systemctl show -P MainPID parley)
echo '== privileges'; grep -E '^(NoNewPrivs|CapEff|CapBnd|Uid):' /proc/$pid/status | tr -s '\\t' ' '
cd /opt/parley
home=$(tr '\\0' '\\n' < /proc/$pid/environ | sed -n 's/^HOME=//p')
as_parley() { nsenter --target $pid --mount --root setpriv --reuid $(id -u parley) --regid $(id -g parley) --clear-groups env -C /opt/parley "HOME=$home" "$@"; }
echo '== writes'; for folder in /opt/parley /var/lib/parley /tmp /etc /usr /opt /var/log /home /root; do as_parley touch $folder/probe 2> /dev/null && echo $folder; done
echo '== home'; as_parley npm config get cache; as_parley npm cache verify > /dev/null && echo kept
echo '== link'; ${await documented('console')}
echo '== key'; ${await documented('keys create')} | tee /tmp/key
echo '== speech'; curl -fs -o /tmp/speech.wav -w '%{http_code} %{size_download}' -H "Authorization: Bearer $(grep -o 'ak_[A-Za-z0-9_]*' /tmp/key)" -H 'Content-Type: application/json' http://127.0.0.1:8080/speech \\
  -d "{\\"assistant_id\\":\\"$(curl -fs -H "Authorization: Bearer $(grep -o 'ak_[A-Za-z0-9_]*' /tmp/key)" http://127.0.0.1:8080/assistants | grep -o 'asst_[a-z0-9]*' | head -1)\\",\\"text\\":\\"Hello there.\\"}"; echo
systemctl stop parley
echo '== stopped'; systemctl show -P Result -P ExecMainStatus parley
echo '== journal'; journalctl -u parley -o cat _COMM=node
echo '== files'; stat -c '%a %U %n' /var/lib/parley /var/lib/parley/data /var/lib/parley/data/data.mdb
`,
  );
  t.match(found, { ready: '{"status":"ready"}', stopped: 'success\n0' });
  t.match(found['privileges'], /^Uid: (\d+) .*\n(?:CapBnd: 0+\nCapEff: 0+|CapEff: 0+\nCapBnd: 0+)\nNoNewPrivs: 1$/);
  t.not(found['privileges']!.slice(0, 7), 'Uid: 0 ');
  t.same(found['writes'], '/opt/parley\n/var/lib/parley\n/tmp', 'and nowhere else');
  t.match(found['home'], /^\/var\/lib\/parley\/\.npm\nkept$/);
  t.match(found['link'], /^http:\/\/127\.0\.0\.1:8080\/console#sign-in=/);
  t.match(found['key'], /\bak_\w+/);
  t.match(found['speech'], /^200 \d{4,}/, 'the voices run as well');
  const lines = found['journal']!.split('\n').map((line) => JSON.parse(line));
  t.match(lines.find(({ msg }) => msg?.includes('`parley console`'))?.msg, '`parley keys create`');
  t.notMatch(found['journal'], /\bak_|sign-in=/, 'the journal has no secret');
  t.same(found['files']!.split('\n'), [
    '700 parley /var/lib/parley',
    '700 parley /var/lib/parley/data',
    '600 parley /var/lib/parley/data/data.mdb',
  ]);
});

t.test(
  'the documented unit with several processes is reloaded without an end',
  { skip: whyNoSystemd() || (whyNoRedis() ?? false) },
  async (t) => {
    const found = await within(
      t,
      `
redis-server --daemonize yes --appendonly yes --dir /tmp > /dev/null
${await documented('useradd')}
${owned}
${await documented('install -m 600')}
printf 'PARLEY_STORE=redis://127.0.0.1:6379\\nPARLEY_SECRET=a-secret-of-the-tests-that-is-long-enough\\nPARLEY_OPERATOR_TOKEN=operator-token-of-the-tests\\nPARLEY_PROCESSES=2\\n' > /etc/parley.env
systemctl start parley
echo '== ready'; ready
echo '== reloaded'; systemctl reload parley; until journalctl -u parley -o cat | grep -q 'rolling restart done'; do sleep 0.5; done; ready
systemctl show -P NRestarts -P ActiveState parley
systemctl stop parley
echo '== stopped'; systemctl show -P Result -P ExecMainStatus parley
echo '== journal'; journalctl -u parley -o cat _COMM=node
`,
    );
    t.match(found, {
      ready: '{"status":"ready"}',
      reloaded: /^\{"status":"ready"\}\n0\nactive$|^\{"status":"ready"\}\nactive\n0$/,
      stopped: 'success\n0',
    });
    t.equal(found['journal']!.split('\n').filter((line) => line.includes('`parley console`')).length, 1);
    t.notMatch(found['journal'], /\bak_|sign-in=/);
  },
);

t.test(
  'systemd finds no fault with the unit, and little that it exposes',
  { skip: spawnSync('systemd-analyze', ['--version']).status === 0 ? false : 'systemd-analyze is not installed' },
  async (t) => {
    // Kernel tables and syscalls that a program without privileges reaches remain: 10 is a service without any
    // hardening.
    for (const args of [
      ['verify', unit],
      ['security', '--offline=true', '--threshold=35', '--no-pager', unit],
    ]) {
      const { status, stdout, stderr } = spawnSync('systemd-analyze', args, { encoding: 'utf8' });
      t.equal(status, 0, `${args[0]}: ${stdout}${stderr}`);
    }
  },
);
