import t from 'tap';
import { watchMessage } from '../../src/http/console/watching.ts';
import { Failure, failureText } from '../../src/base/errors.ts';
import { jsonText, withoutMark } from '../../src/base/json.ts';

t.test('characters that end a line for some readers are escaped, and mean the same', (t) => {
  const values = [
    'plain',
    'é',
    '日本',
    '\u2028',
    'a\u2029b\u2028\u2028',
    { 'name\u2028': ['\u2029', { deep: '日\u2028' }] },
    null,
    1,
    [true, '\ud83c\udf75'],
  ];
  for (const value of values) {
    t.notMatch(jsonText(value), /[\u2028\u2029]/);
    t.same(JSON.parse(jsonText(value)), value);
    if (!/[\u2028\u2029]/.test(JSON.stringify(value)))
      t.equal(jsonText(value), JSON.stringify(value), 'nothing else changes');
  }
  t.equal(jsonText('\u2028'), '"\\u2028"');
  t.notMatch(failureText(new Failure('invalid_field', { field: 'a\u2028b' }), 'req_1'), /\u2028/, 'in a failure too');
  t.end();
});

t.test('a byte order mark before JSON is ignored, one and only there', (t) => {
  t.same(['\ufeff{}', '{}', '\ufeff\ufeff{}', '{\ufeff}', ''].map(withoutMark), [
    '{}',
    '{}',
    '\ufeff{}',
    '{\ufeff}',
    '',
  ]);
  t.same(watchMessage('\ufeff{"type":"sync"}'), { type: 'sync' });
  t.end();
});
