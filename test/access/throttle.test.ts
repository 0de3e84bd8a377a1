/** The throttle of each address (contract 4), with the arithmetic of the budgets (contract 5). */
import t from 'tap';
import { full, retryAfterSeconds, take } from '../../machines/budget.ts';
import { AddressThrottle, throttledAddressesMax } from '../../src/access/throttle.ts';
import { ManualClock } from '../providers/model/provider.ts';

const open = (ceiling: number) => {
  const clock = new ManualClock();
  return { clock, throttle: new AddressThrottle(clock, ceiling) };
};

/** Number of addresses that pass at once. */
const passing = (throttle: AddressThrottle, addresses: readonly string[], most = 100): number => {
  for (let count = 0; count < most; count++)
    if (throttle.take(addresses[count % addresses.length]!) !== null) return count;
  return most;
};

t.test("a throttle behaves like a key's bucket", async (t) => {
  const { clock, throttle } = open(5);
  let bucket = full(5, clock.now());
  for (const pauseMs of [
    0, 0, 0, 0, 0, 0, 0, 12_000, 24_000, 0, 1, 30_000, 0, 0, 0, 0, 0, 0, 0, 60_000, 0, 500_000, 0, 0, 0, 0, 0, 0,
  ]) {
    clock.advance(pauseMs);
    const taken = take(bucket, 5, clock.now());
    bucket = taken.bucket;
    t.equal(throttle.take('192.0.2.1'), taken.passed ? null : retryAfterSeconds(bucket, 5));
  }
});

t.test('a caller that waits for Retry-After passes, and another waits longer, a minute at most', async (t) => {
  const { clock, throttle } = open(5);
  t.equal(passing(throttle, ['192.0.2.1']), 5);
  for (const seconds of [36, 48, 60, 60]) t.equal(throttle.take('192.0.2.1'), seconds);
  clock.advance(59_999);
  t.equal(throttle.take('192.0.2.1'), 13);
  clock.advance(13_000);
  t.equal(throttle.take('192.0.2.1'), null);
});

t.test('a change of the wall clock leaves the throttle unchanged', async (t) => {
  const { clock, throttle } = open(5);
  t.equal(passing(throttle, ['192.0.2.1']), 5);
  clock.jump(3_600_000);
  t.not(throttle.take('192.0.2.1'), null);
});

t.test('an address is an IPv4 address, or 56 bits of an IPv6 address', async (t) => {
  const together = [
    ['192.0.2.1', '::ffff:192.0.2.1', '::FFFF:c000:201'],
    ['2001:db8:0:1::1', '2001:db8:0:1::2', '2001:db8:0:ff:ffff:ffff:ffff:ffff', '2001:DB8::'],
    ['fe80::1%eth0', 'fe80::2'],
    ['no address'],
  ];
  const { throttle } = open(5);
  for (const addresses of together) t.equal(passing(throttle, addresses), 5, addresses.join());
  for (const other of ['192.0.2.2', '2001:db8:0:100::1', '2001:db9::', '::1', ''])
    t.equal(passing(throttle, [other]), 5, other);
});

t.test('a bounded number of addresses is remembered, the latest', async (t) => {
  const { throttle } = open(1);
  const address = (index: number): string => `10.${index >> 16}.${(index >> 8) & 255}.${index & 255}`;
  t.equal(throttle.take(address(0)), null);
  t.equal(throttle.take(address(1)), null);
  t.not(throttle.take(address(0)), null, 'heard of again');
  for (let index = 2; index <= throttledAddressesMax; index++) throttle.take(address(index));
  t.equal(throttle.take(address(1)), null, 'forgotten');
  t.not(throttle.take(address(throttledAddressesMax)), null);
});
