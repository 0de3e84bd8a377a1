/** Programs of others that tests run; `npm test` installs them before the files run. */
import { isThere } from './run/programs.mjs';

export { environment } from './run/programs.mjs';

type Program =
  | 'redis-server'
  | 'nginx'
  | 'haproxy'
  | 'slowhttptest'
  | 'chromium'
  | 'chromium-headless-shell'
  | 'libfaketime'
  | 'ffmpeg'
  | 'python3';

/** The reason for skipping tests that need a program, or null. */
export const whyMissing = (program: Program): string | null =>
  isThere(program) ? null : `${program} is not installed`;
