// `npm run build`: the command in dist/, and the package of its client in dist/client. The second needs the development
// packages.
import { buildClient } from './pack-client.mjs';
import { giveUp, prepare } from './prepare.mjs';

await prepare({ development: true });
await buildClient().catch(giveUp);
