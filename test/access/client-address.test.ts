/** The address of a client behind trusted proxies, as they write it (contract 4). */
import t from 'tap';
import { cameByTls, clientAddress } from '../../src/access/client-address.ts';

const head = (lines: Readonly<Record<string, readonly string[]>>, remoteAddress = '10.0.0.1') => ({
  method: 'GET',
  path: '/',
  query: '',
  remoteAddress,
  headers: (name: string) => lines[name] ?? [],
});
const trusted = ['10.0.0.0/8', 'fd00::/8'];

t.test("the client's address is the nearest that is not a trusted proxy's", (t) => {
  for (const [forwarded, expected] of [
    [['203.0.113.5'], '203.0.113.5'],
    [['203.0.113.5:41000'], '203.0.113.5'],
    [['203.0.113.5:41000, 10.2.3.4:5123'], '203.0.113.5'],
    [['[203.0.113.5]'], '203.0.113.5'],
    [['[203.0.113.5]:41000'], '203.0.113.5'],
    [['198.51.100.1:1, 203.0.113.5:2'], '203.0.113.5'],
    [['198.51.100.1', '203.0.113.5:2,10.1.1.1'], '203.0.113.5'],
    [['2001:db8::1'], '2001:db8::1'],
    [['[2001:db8::1]'], '2001:db8::1'],
    [['[2001:db8::1]:41000'], '2001:db8::1'],
    [['[2001:DB8:0:0::1]:41000,[fd00::7]:80'], '2001:db8::1'],
    [['fe80::1%eth0'], 'fe80::1'],
    [['[fe80::1%25eth0]:80'], 'fe80::1'],
    [['::ffff:203.0.113.5'], '203.0.113.5'],
    [['[::ffff:203.0.113.5]:41000'], '203.0.113.5'],
    [['203.0.113.5, ::ffff:10.2.3.4'], '203.0.113.5'],
    [['10.2.3.4:80'], '10.2.3.4'],
  ] as const)
    t.equal(clientAddress(head({ 'x-forwarded-for': forwarded }), trusted), expected, forwarded.join(' | '));
  t.end();
});

t.test('an entry that is no address ends the search', (t) => {
  const none = [
    'unknown',
    '',
    '203.0.113.5:',
    '203.0.113.5:port',
    '203.0.113.5:123456',
    '203.0.113:80',
    '203.0.113.500:80',
    '[203.0.113.5]:',
    '[203.0.113.500]:80',
    '[2001:db8::1',
    '2001:db8::1]',
    '[2001:db8::1]80',
    '[2001:db8::1]:',
    '[]:80',
    '[::1]:80:80',
    '_hidden:80',
    '1:80',
  ];
  for (const hop of none) {
    t.equal(clientAddress(head({ 'x-forwarded-for': [hop] }), trusted), '10.0.0.1', hop);
    t.equal(clientAddress(head({ 'x-forwarded-for': [`203.0.113.5, ${hop}, 10.9.9.9:1`] }), trusted), '10.9.9.9', hop);
  }
  t.equal(
    clientAddress(head({ 'x-forwarded-for': ['203.0.113.5:1'] }, '198.51.100.9'), trusted),
    '198.51.100.9',
    'nobody else is believed',
  );
  t.end();
});

t.test('the case of the scheme is ignored', (t) => {
  for (const value of ['https', 'HTTPS', 'Https', ' HTTPS , http', 'https,http'])
    t.equal(cameByTls(head({ 'x-forwarded-proto': [value] }), trusted), true, value);
  for (const value of ['http', 'HTTP', 'http, https', '', 'httpss', 'https://'])
    t.equal(cameByTls(head({ 'x-forwarded-proto': [value] }), trusted), false, value);
  t.equal(
    cameByTls(head({ 'x-forwarded-proto': ['HTTPS'] }, '198.51.100.9'), trusted),
    false,
    'nobody else is believed',
  );
  t.end();
});
