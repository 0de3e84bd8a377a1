/** `POST /sessions/{id}/ask`: asks for a person (contract 23); and a chat that is accepted for one. */
import { askForPerson } from '../../conversation/desk.ts';
import { sessionView } from '../../conversation/views.ts';
import { jsonText } from '../../base/json.ts';
import type { AskBody } from '../../wire/wire.ts';
import { eventFrame, eventStreamHeaders } from '../edge/event-stream.ts';
import type { PrincipalCaller, Reply, Request } from '../request.ts';
import type { Services } from '../../conversation/services.ts';

export async function ask(request: Request<PrincipalCaller, unknown, AskBody | undefined>): Promise<Reply> {
  const { caller, params, body, requestId, services } = request;
  const { principal } = caller;
  const session = await askForPerson({ principal, sessionId: params.id, requestId, services }, body?.reason ?? null);
  return { status: 200, json: sessionView(session, services.clock.now(), principal.channel) };
}

/** The stream of a message that was accepted for a person: one event, and no turn. */
export const acceptedReply = (messageId: string, isReplayed: boolean, services: Services): Reply => ({
  status: 200,
  headers: { ...eventStreamHeaders(), ...(isReplayed && { 'idempotent-replayed': 'true' }) },
  stream: (outlet) => {
    services.metrics.streamEvents.inc();
    outlet.write(eventFrame('message.accepted', 0, jsonText({ message_id: messageId })));
    outlet.end();
  },
});
