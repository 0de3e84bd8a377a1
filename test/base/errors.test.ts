/** The body of a failure as text. */
import t from 'tap';
import { errors, Failure, failureText, refused, type ErrorName } from '../../src/base/errors.ts';

const names = Object.keys(errors) as ErrorName[];
const fields = [
  'visitor.email',
  'metadata.a"b',
  'metadata.a\\b',
  'metadata.a\nb',
  'metadata.ü👋\u2028',
  '$& $1 {limit}',
  '',
];

t.test('it is JSON with the message as the table has it, whatever field it names', async (t) => {
  for (const name of names) {
    const { code, type, message } = errors[name];
    for (const field of message.includes('{field}') ? fields : [undefined]) {
      const detail = field === undefined ? { seconds: 7, limit: 8000 } : { field };
      const text =
        field === undefined
          ? message.replace('{seconds}', '7').replace('{limit}', '8000')
          : message.replace('{field}', () => field);
      const body = { error: { type, code, message: text }, request_id: 'req_1' };
      t.same(JSON.parse(failureText(new Failure(name, detail), 'req_1')), body, `${name} ${field}`);
      t.same(JSON.parse(failureText(refused(name, detail), 'req_1')), body, `${name} handed back`);
    }
  }
});
