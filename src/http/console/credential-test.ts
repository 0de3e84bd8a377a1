/** `/console/api/workspaces/{w}/credentials/{id}/test`: whether its provider takes a credential. */
import type { ModelFailure } from '../../providers/model.ts';
import type { Reply } from '../request.ts';
import { recordAct } from './audit.ts';
import { present, reachWorkspace, type ConsoleRequest } from './common.ts';

interface Verdict {
  readonly result: 'works' | 'refused' | 'unknown';
  /** A fixed sentence: nothing that a provider says is shown. */
  readonly message: string;
}

const unknown = (message: string): Verdict => ({ result: 'unknown', message });
const works: Verdict = { result: 'works', message: 'The provider takes the key.' };
const refused: Verdict = { result: 'refused', message: 'The provider refuses the key.' };
const unreadable = unknown('The stored key cannot be read. Enter it anew.');
const untestable = unknown('Keys of this provider cannot be tested.');
const ofTool = unknown('The key of a tool is tested with a test call of the tool.');
const silent = unknown('The provider does not answer.');
const forbidden = unknown('The address of the provider may not be called, or there is no such host.');
const strange = unknown('The provider answers, but not in a way that tells whether it takes the key.');

const http2Alone = unknown('The provider answers in HTTP/2 alone. Use an address that speaks HTTP/1.1.');

const verdicts: Readonly<Record<ModelFailure, Verdict>> = {
  credential: refused,
  address: forbidden,
  connect: silent,
  http2: http2Alone,
  proxy: silent,
  first_output_timeout: silent,
  idle_timeout: silent,
  cut: silent,
  rate_limit: strange,
  status: strange,
  redirect: strange,
  malformed: strange,
  provider_error: strange,
  format: strange,
  forced: strange,
};

/**
 * Tests the credential as the store has it now. Voice credentials are tested like model credentials: a provider has one
 * list for both.
 */
export async function testCredential(request: ConsoleRequest): Promise<Reply> {
  const { result, message } = await verdictOn(request);
  return { status: 200, json: { object: 'credential_test', result, message } };
}

async function verdictOn(request: ConsoleRequest): Promise<Verdict> {
  const { store, vault, models } = request.services;
  const { id: workspaceId } = await reachWorkspace(request);
  const { record } = present(await store.catalog.read('credential', workspaceId, request.params.id));
  await recordAct(request, workspaceId, { action: 'test', objectType: 'credential', objectId: record.id });
  if (record.kind === 'tool') return ofTool;
  const model = models.get(record.provider);
  if (model?.tryKey === undefined) return untestable;
  const apiKey = vault.open(record);
  if (apiKey === null) return unreadable;
  const failure = await model.tryKey({ baseUrl: record.baseUrl, apiKey });
  return failure === null ? works : verdicts[failure];
}
