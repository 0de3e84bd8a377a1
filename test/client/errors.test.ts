/** The errors that the client throws, and that its retry table is the server's. */
import t from 'tap';
import { codedError, ConnectionError, ParleyError, RateLimitError, TurnFailedError } from '../../src/client/failure.ts';
import { failureOf } from '../../src/client/http.ts';
import { Patience } from '../../src/client/patience.ts';
import { errors, failureText, refused, type ErrorName } from '../../src/base/errors.ts';
import { HandClock } from './scene.ts';

const fields = { code: null, type: null, status: null, requestId: null } as const;
const requestId = `req_${'a'.repeat(26)}`;

t.test('every row of the table is read as it is, and repeated as it says', async (t) => {
  for (const [name, row] of Object.entries(errors)) {
    const text = failureText(
      refused(name as ErrorName, { field: 'visitor.email', seconds: 7, limit: 8000 }),
      requestId,
    );
    const headers: Record<string, string> = row.retry === 'after' ? { 'retry-after': '7' } : {};
    const error = failureOf({ response: new Response(text, { status: row.status, headers }) }, text)!;
    const { code, type, status } = row;
    t.match(
      error,
      {
        code,
        type,
        status,
        requestId,
        retryable: row.retry !== 'never',
        message: JSON.parse(text).error.message,
        name: status === 429 ? 'RateLimitError' : 'ParleyError',
      },
      name,
    );
    const patience = new Patience(new HandClock(), 'always', 60);
    const waits = (): number => {
      try {
        return patience.waitAfter(error);
      } catch (thrown) {
        return t.equal(thrown, error) ? -1 : NaN;
      }
    };
    t.equal(waits() >= 0, row.retry !== 'never', `${name}: ${row.retry}`);
  }
});

t.test('a code that ends a stream or a socket has the category of its row', async (t) => {
  const ends = [
    'session_ended',
    'session_expired',
    'assistant_not_published',
    'assistant_disabled',
    'voice_disabled',
    'invalid_request',
    'assistant_unavailable',
    'voice_unavailable',
    'api_error',
    'rate_limited',
  ] as const;
  for (const code of ends) {
    const row = errors[code === 'invalid_request' ? 'invalid_field' : code];
    t.equal(row.code, code);
    t.equal(codedError(code, 'm').type, row.type, code);
  }
});

t.test('the field that a message names', async (t) => {
  const fieldOf = (name: ErrorName, field?: string) => {
    const text = failureText(refused(name, { ...(field && { field }), limit: 1 }), requestId);
    return failureOf({ response: new Response(text, { status: errors[name].status }) }, text)!.field;
  };
  t.equal(fieldOf('missing_field', 'visitor.email'), 'visitor.email');
  t.equal(fieldOf('unreadable_header', 'Last-Event-ID'), 'Last-Event-ID');
  t.equal(fieldOf('missing_visitor_fields', '`visitor.email`, `visitor.age`'), 'visitor.email');
  t.equal(fieldOf('message_too_long'), null);
});

t.test('jitter is full: from nothing to the whole backoff, which doubles up to 8 s', async (t) => {
  for (const chance of [0, 0.999]) {
    const clock = new HandClock();
    clock.chance = chance;
    const patience = new Patience(clock, 'always', 60);
    const error = new ParleyError('away', { ...fields, code: 'api_error', status: 503, retryable: true });
    const waits = Array.from({ length: 7 }, () => patience.waitAfter(error));
    t.same(
      waits,
      [500, 1000, 2000, 4000, 8000, 8000, 8000].map((ms) => ms * chance),
    );
  }
});

t.test('a class is known by its brand, in every copy of the package', async (t) => {
  const copy = await import(`${new URL('../../dist/client/index.js', import.meta.url).href}?copy`);
  const made = {
    ParleyError: [new ParleyError('m', fields), new copy.ParleyError('m', fields)],
    RateLimitError: [new RateLimitError('m', fields), new copy.RateLimitError('m', fields)],
    ConnectionError: [new ConnectionError('m'), new copy.ConnectionError('m')],
    TurnFailedError: [
      new TurnFailedError('m', { ...fields, partial: '' }),
      new copy.TurnFailedError('m', { ...fields, partial: '' }),
    ],
  };
  const classes = { ParleyError, RateLimitError, ConnectionError, TurnFailedError };
  for (const [name, [ours, theirs]] of Object.entries(made)) {
    for (const [other, known] of Object.entries(classes)) {
      const is = other === name || other === 'ParleyError';
      t.equal(ours instanceof known, is, `${name} is a ${other}: ${is}`);
      t.equal(theirs instanceof known, is, `${name} of another copy`);
      t.equal(ours instanceof copy[other], is, `${name} for another copy`);
    }
    t.equal(ours.name, name);
    t.ok(ours instanceof Error);
  }
  for (const stranger of [new Error('m'), {}, null, undefined, 'ParleyError'])
    t.notOk((stranger as object) instanceof ParleyError);
  class Own extends RateLimitError {}
  t.ok(new Own('m', fields) instanceof Own && new Own('m', fields) instanceof RateLimitError);
  t.notOk(made.RateLimitError[0] instanceof Own, 'a class derived from ours is known by itself');
});
