/**
 * The text that an English voice is given: letters without marks, words for signs, and nothing of other scripts
 * (contract 8).
 */
import t from 'tap';
import { englishOf } from '../../../src/providers/voice/english.ts';

const table: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  'letters with marks': {
    'Meet me at the café.': 'Meet me at the cafe.',
    'naïve Ångström Straße Łódź Øre Æsir': 'naive Angstrom Strasse Lodz Ore AEsir',
    'Zoë’s résumé, e\u0301tude': "Zoe's resume, etude",
    'Tiếng Việt': 'Tieng Viet',
    'ﬁne ligatures': 'fine ligatures',
    'so\u00adft and zero\u200bwidth': 'soft and zerowidth',
  },
  money: {
    'It costs €5.': 'It costs 5 euros.',
    '€1 or £1 or $1': '1 euro or 1 pound or 1 dollar',
    '€5.50, 5,50 €, £3.20, $1,200.75':
      '5 euros and 50 cents, 5 euros and 50 cents, 3 pounds and 20 pence, 1,200 dollars and 75 cents',
    '$5.00 and ¥500 and 12 €': '5 dollars and 500 yen and 12 euros',
    '$5 million, £3m, 2k€, $1.5bn': '5 million dollars, 3 million pounds, 2 thousand euros, 1.5 billion dollars',
    'a debt of -€5': 'a debt of minus 5 euros',
    'the € rose': 'the euro rose',
    'It is €1.234,56, or 1.234,56 € or 1 234,56 €.':
      'It is 1,234 euros and 56 cents, or 1,234 euros and 56 cents or 1,234 euros and 56 cents.',
    "CHF 12'345,60, €1.234, 12.345 €, $1.234": 'CHF 12,345.60, 1,234 euros, 12,345 euros, 1.234 dollars',
    '192.168.100.200 and 1.234': '192.168.100.200 and 1.234',
  },
  ranges: {
    'Open 9:00-17:00, or 22:00-6:00, 9am-5pm, 9 a.m. - 5 p.m.':
      'Open 9:00 to 17:00, or 22:00 to 6:00, 9am to 5pm, 9 a.m. to 5 p.m.',
    '9:00–17:00': '9:00 to 17:00',
    '5-10 days, 10-20%, 2020-2024, 1.5-2.5 kg': '5 to 10 days, 10 to 20 percent, 2020 to 2024, 1.5 to 2.5 kg',
    '$5-10, €5–10, 5-10 €, $5-$10, $1-2 million':
      '5 to 10 dollars, 5 to 10 euros, 5 to 10 euros, 5 dollars to 10 dollars, 1 to 2 million dollars',
    'Call 555-1234 or 1-800-555-0199; 2024-01-05; a 3-2 score; COVID-19; 24-7':
      'Call 555-1234 or 1-800-555-0199; 2024-01-05; a 3-2 score; COVID-19; 24-7',
  },
  signs: {
    '100% & more + 2 = 3': '100 percent and more plus 2 equals 3',
    '20°C, 68 °F, a turn of 90°': '20 degrees Celsius, 68 degrees Fahrenheit, a turn of 90 degrees',
    '½ cup and 2½ cups': 'one half cup and 2 and one half cups',
    'ada@example.com, #1, #fun': 'ada at example dot com, number 1, hashtag fun',
    'Node.js, example.co.uk. It is 5 p.m. or 3.5, e.g. here.':
      'Node dot js, example dot co dot uk. It is 5 p.m. or 3.5, e.g. here.',
    'Windows™ © 2024 ®': 'Windows trademark copyright 2024 registered',
    '5 × 3 ÷ 2 ± 1 ≈ 4': '5 times 3 divided by 2 plus or minus 1 about 4',
    'm² and x³, №5, §4': 'm squared and x cubed, number 5, section 4',
    '−3 to 5–7': 'minus 3 to 5 to 7',
    'well-known T-shirt': 'well-known T-shirt',
    '“No” — really… it’s «so»': '"No", really... it\'s "so"',
    'AT&T, C++': 'AT and T, C plus plus',
  },
  digits: {
    '５００ ｆｕｌｌ': '500 full',
    '٣ and ۴ and ५ and ๖': '3 and 4 and 5 and 6',
    '①②': '12',
  },
  'other scripts': {
    'Привет мир': '',
    '你好，世界。': '',
    مرحبا: '',
    ไทย: '',
    한국어: '',
    שלום: '',
    '🙂': '',
    '你好 & 世界™': '',
    '€': '',
    '': '',
    'Hello мир!': 'Hello!',
    '日本語です。Hello。': 'Hello.',
  },
};

for (const [name, texts] of Object.entries(table)) {
  t.test(name, async (t) => {
    for (const [text, said] of Object.entries(texts)) t.equal(englishOf(text), said, text);
  });
}

t.test('ASCII without signs stays as it is', async (t) => {
  for (const text of ['Hello, world! It is 5 p.m.', "Don't; (really?) 1/2 - 3", 'snake_case'])
    t.equal(englishOf(text), text);
});
