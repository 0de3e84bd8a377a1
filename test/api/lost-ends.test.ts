/** A real server whose session is ended in Redis while the reply, and then Redis itself, is away. */
import t from 'tap';
import { wayToRedis } from '../faults/way.ts';
import { appendOnly, RedisServer, whyNoRedis } from '../store/redis-server.ts';
import { patient } from '../run/speed.mjs';
import { openHouse } from './house.ts';
import { begin, end, refused, sayInVain, synthetic, transcriptOf } from './talk.ts';

t.test(
  'the turn of a session whose end was stored and not answered is stopped when Redis is back',
  { skip: whyNoRedis() ?? false },
  async (t) => {
    const redis = await RedisServer.start(...appendOnly);
    t.teardown(() => redis.stop());
    const { way, url } = await wayToRedis(t, redis.port);
    // A turn that is not stopped ends by its own time limit, in another event.
    const house = await openHouse(t, {
      env: {
        PARLEY_TURN_MS_MAX: String(patient(20_000)),
        PARLEY_STORE: url,
        PARLEY_SECRET: 'a-secret-of-the-tests-that-is-long-enough',
      },
    });
    const { id, stream } = await begin(house, (await synthetic(house, 'tokens=9,hang_at=2,text=so')).id);
    t.equal((await stream.next())!.event, 'turn.started');
    t.equal((await stream.next())!.data.text, 'so so ');

    // Among an end's Redis calls only those that save a session, here one, are answered by a list of numbers. Another
    // reply may come before or after it in one piece.
    way.isReply = (bytes) => {
      const isVersion = /(?:^|\n)\*1\r\n:\d+\r\n/.test(bytes.toString('latin1'));
      if (isVersion) way.close();
      return isVersion;
    };
    way.loseReply(1);
    refused(t, await end(house, id), 503, 'api_error');
    t.ok(way.lost, 'the step was taken');
    way.mend();
    const rest = await stream.rest();
    t.same(
      rest.map(({ event }) => event),
      ['turn.aborted'],
      'though nobody asks for the session again',
    );
    t.match(await transcriptOf(house, id), [
      { role: 'user' },
      { content: 'so so ', status: 'partial', stop_reason: 'aborted' },
    ]);
    t.match((await house.ask(`/sessions/${id}`)).json, { status: 'ended', active_turn_id: null });
    refused(t, await sayInVain(house, id), 409, 'session_ended');
    t.equal((await end(house, id)).status, 200);
  },
);
