/** `POST /v1/audio/speech`: `POST /speech` under other names (contract 14). */
import { Failure } from '../../base/errors.ts';
import type { CompletionSpeechBody } from '../../base/wire.ts';
import { reachModel } from '../../conversation/front.ts';
import { speech } from '../handlers/speech.ts';
import type { PartyCaller, Reply, Request } from '../request.ts';

/** The fields of `POST /speech`, by the names that they have here. */
const names: Readonly<Record<string, string>> = { text: 'input', assistant_id: 'model', format: 'response_format' };

export async function audioSpeech(request: Request<PartyCaller, unknown, CompletionSpeechBody>): Promise<Reply> {
  const { model, input, response_format: format = 'mp3', voice, speed } = request.body;
  const { record } = await reachModel(request.caller.party, model, request.services);
  const body = { assistant_id: record.id, text: input, format, ...(voice !== undefined && { voice }), ...(speed !== undefined && { speed }) };
  try {
    return await speech({ ...request, body });
  } catch (error) {
    const name = error instanceof Failure && error.param !== undefined ? names[error.param] : undefined;
    throw name === undefined ? error : new Failure('invalid_field', { field: name });
  }
}
