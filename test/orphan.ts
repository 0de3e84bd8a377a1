/** A test that starts a server, says where it is, and then hangs until it is killed. */
import { startServer } from './process.ts';

const { url } = await startServer({ teardown: () => undefined });
process.stdout.write(url);
