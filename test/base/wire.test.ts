/** A body pruned to its schema. */
import t from 'tap';
import { pruned } from '../../src/base/wire.ts';

const text = { type: 'string' };
const schema = {
  type: 'object',
  properties: { name: text, cleared: { anyOf: [text, { type: 'null' }] }, inner: { type: 'object', properties: { a: text, b: text } }, list: { type: 'array', items: { type: 'object', properties: { a: text } } } },
};

t.test('null is left out where the schema has no use for it, and so is every field that it does not name', async (t) => {
  t.same(pruned({ other: 1, name: 'n', cleared: null, inner: { a: null, b: 'b', c: 1 } }, schema), { name: 'n', cleared: null, inner: { b: 'b' } });
  t.same(Object.keys(pruned({ list: [], none: null, name: 'n', cleared: 'c' }, schema) as object), ['list', 'name', 'cleared'], 'in their order');
  t.same(pruned({ list: [{ a: 'a', b: 1 }, 'text', { a: null }] }, schema), { list: [{ a: 'a' }, 'text', {}] });
  t.same(pruned({ a: 'a', b: null }, { type: 'object', additionalProperties: text }), { a: 'a' });
  t.same(pruned(JSON.parse('{"__proto__":{"name":"n"},"name":null}'), schema), {});
  t.same(pruned([{ name: null }], schema), [{ name: null }]);
});

t.test('a value that needs no pruning is not copied', async (t) => {
  const sent = { name: 'n', cleared: null, inner: { a: 'a' } };
  t.equal(pruned(sent, schema), sent);
  const changed = { name: null, inner: { a: 'a' } };
  t.equal((pruned(changed, schema) as typeof changed).inner, changed.inner);
});
