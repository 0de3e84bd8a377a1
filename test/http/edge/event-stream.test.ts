import t from 'tap';
import { createParser } from 'eventsource-parser';
import { addressOf, plainAddress } from '../../../src/http/edge/address.ts';
import { comment, eventFrame } from '../../../src/http/edge/event-stream.ts';

t.test('an event is what a parser of somebody else reads', async (t) => {
  const events: unknown[] = [];
  const comments: string[] = [];
  const parser = createParser({ onEvent: (event) => events.push(event), onComment: (text) => comments.push(text) });
  const data = { text: 'line\nline\r\u2028 "čaj" 🍵: data: x' };
  parser.feed(eventFrame('message.delta', 7, JSON.stringify(data)));
  parser.feed(comment('keep-alive'));
  parser.feed(eventFrame('turn.completed', '12', '{}'));
  t.same(events, [
    { event: 'message.delta', id: '7', data: JSON.stringify(data) },
    { event: 'turn.completed', id: '12', data: '{}' },
  ]);
  t.same(comments, ['keep-alive']);
  t.equal(eventFrame('error', 3, '{"a":1}'), 'event: error\nid: 3\ndata: {"a":1}\n\n');
});

t.test('addresses are spelt the same from bytes and from text', async (t) => {
  const mapped = [...Array.from({ length: 10 }, () => 0), 255, 255, 192, 0, 2, 7];
  const loopback = [...Array.from({ length: 15 }, () => 0), 1];
  const documentation = [0x20, 0x01, 0x0d, 0xb8, ...Array.from({ length: 10 }, () => 0), 0, 0xab];
  t.equal(addressOf(new Uint8Array([192, 0, 2, 7])), '192.0.2.7');
  t.equal(addressOf(new Uint8Array(mapped)), '192.0.2.7');
  t.equal(addressOf(new Uint8Array(loopback)), '::1');
  t.equal(addressOf(new Uint8Array(documentation)), '2001:db8::ab');
  t.equal(addressOf(new Uint8Array(0)), '');
  t.equal(plainAddress('::ffff:192.0.2.7'), '192.0.2.7');
  t.equal(plainAddress('2001:db8::ab'), '2001:db8::ab');
  t.equal(plainAddress(undefined), '');
});
