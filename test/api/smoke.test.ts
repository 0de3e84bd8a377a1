import t from 'tap';
import { edges, openHouse, textOf } from './house.ts';

for (const edge of edges) {
  t.test(`a conversation on ${edge}`, async (t) => {
    const house = await openHouse(t, { env: { PARLEY_EDGE: edge } });
    const assistant = await house.assistant();
    const session = await house.session(assistant.id);
    const stream = await house.stream(`/sessions/${session.id}/chat`, { body: { message: 'Hello' } });
    const events = await stream.rest();
    t.equal(events[0]!.event, 'turn.started');
    t.equal(events.at(-1)!.event, 'turn.completed');
    const transcript = (await house.ask(`/sessions/${session.id}/transcript`)).json;
    t.equal(transcript.data[1].content, textOf(events));
  });
}
