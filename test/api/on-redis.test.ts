/** The API's tests once more, every house on a Redis of its own: what a client sees does not depend on the store. */
import { fileURLToPath } from 'node:url';
import t from 'tap';
import { whyNoRedis } from '../store/redis-server.ts';

/** Those in which the store has a say; any other runs alike with `PARLEY_TEST_STORE=redis` before its command. */
const files = ['abort', 'chat', 'crash', 'drain', 'end', 'expiry', 'idempotency', 'limits', 'lists', 'provider', 'resume', 'tenants', 'usage'];

// They run one after the other, each with the time that it has by itself.
const timeout = 120_000;
t.setTimeout(files.length * timeout);
const lacking = whyNoRedis();

for (const file of files) {
  const path = fileURLToPath(new URL(`./${file}.test.ts`, import.meta.url));
  const options = { env: { ...process.env, PARLEY_TEST_STORE: 'redis' }, timeout, ...(lacking === null ? {} : { skip: lacking }) };
  void t.spawn(process.execPath, ['--import=tsx', path], options, `${file} on Redis`);
}
