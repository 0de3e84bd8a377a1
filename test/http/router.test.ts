import t from 'tap';
import { pathParameters, type Route } from '../../src/http/request.ts';
import { documented } from '../../src/http/routes.ts';
import { Router } from '../../src/http/router.ts';

const paths = ['/docs', '/docs/{path*}', '/docs/files/{name}', '/a/{id}', '/a/{id}/b', '/{any}/c'];
const router = new Router(paths.map((path) => ({ method: 'GET', path }) as Route));

const expected: Readonly<Record<string, [string, object] | null>> = {
  '/docs': ['/docs', {}],
  '/docs/': null,
  '/docs/a': ['/docs/{path*}', { path: 'a' }],
  '/docs/a/b%20c/d.js': ['/docs/{path*}', { path: 'a/b c/d.js' }],
  '/docs/a/': ['/docs/{path*}', { path: 'a/' }],
  '/docs/files/a': ['/docs/files/{name}', { name: 'a' }],
  '/docs/files': ['/docs/{path*}', { path: 'files' }],
  '/docs/files/a/b': ['/docs/{path*}', { path: 'files/a/b' }],
  '/a/1/b': ['/a/{id}/b', { id: '1' }],
  '/a/1/d': null,
  '/x/c': ['/{any}/c', { any: 'x' }],
};

for (const [path, found] of Object.entries(expected)) {
  t.test(path, async (t) => {
    const one = router.find('GET', path);
    t.same(one && [one.route.path, one.params], found);
    t.equal(router.find('POST', path), null, 'another method finds nothing');
  });
}

t.test('each parameter in the path of a route is one that a handler can read', async (t) => {
  const names = documented.flatMap(({ path }) => path.match(/(?<=\{)\w+/g) ?? []);
  t.same(
    [...new Set(names)].filter((name) => !pathParameters.some((one) => one === name)),
    [],
  );
});
