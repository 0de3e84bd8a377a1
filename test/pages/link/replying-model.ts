/** A model for pictures, which answers every message with the same text. */
import type { House } from '../../api/house.ts';
import { credentialOf } from '../../api/talk.ts';
import type { Owner } from '../../folders.ts';
import { delta, done, eventStream, provider } from '../../providers/model/provider.ts';

/** Returns the field `model` of an assistant. */
export async function replyingModel(t: Owner, house: House, text: string): Promise<object> {
  const server = await provider((response) => {
    response.writeHead(200, eventStream);
    response.end(delta(text, 'stop') + done);
  });
  t.teardown(() => server.close());
  const { id } = await credentialOf(house, 'openai', server.baseUrl);
  return { provider: 'openai', name: 'shop', credential_id: id };
}
