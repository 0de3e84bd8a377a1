/** Takeovers that have not led to a seal yet. */
import t from 'tap';
import { Takeovers } from '../../src/turn/takeovers.ts';

const leaseMs = 6000;

t.test('a takeover is sent again with the same end until that has passed', async (t) => {
  const takeovers = new Takeovers();
  t.equal(takeovers.begin('turn_1', 10_000, leaseMs), 16_000);
  t.equal(takeovers.begin('turn_1', 10_000, leaseMs), null, 'while another call seals the turn');
  takeovers.end('turn_1', false);
  t.equal(takeovers.begin('turn_1', 15_999, leaseMs), 16_000);
  takeovers.end('turn_1', false);
  t.equal(takeovers.begin('turn_1', 16_000, leaseMs), 22_000);
  takeovers.end('turn_1', true);
  t.equal(takeovers.has('turn_1'), false);
});

t.test('a clock that is set back locks no turn for longer than a lease', async (t) => {
  const takeovers = new Takeovers();
  takeovers.begin('turn_1', 200_000, leaseMs);
  takeovers.end('turn_1', false);
  t.equal(takeovers.begin('turn_1', 10_000, leaseMs), 16_000);
});
