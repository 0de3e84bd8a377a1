/**
 * Link-local addresses and cloud metadata (contract 11): no credential and no tool may name them, whichever setting
 * allows others.
 */
import t from 'tap';
import { openWorkspace } from './house.ts';
import { refused } from './talk.ts';

const hosts = [
  '169.254.169.254',
  '2852039166',
  '0251.0376.0251.0376',
  '100.100.100.200',
  '168.63.129.16',
  '[fe80::1]',
  '[fd00:ec2::254]',
  '[::ffff:169.254.169.254]',
  '[64:ff9b::a9fe:a9fe]',
  '[2002:a9fe:a9fe::1]',
];

t.test(
  'a credential or a tool at such an address is refused with 422, when it is made and when it is changed',
  async (t) => {
    const house = await openWorkspace();
    const path = `/workspaces/${house.workspaceId}`;
    const fields = { kind: 'model', provider: 'openai', base_url: 'http://127.0.0.1:9/v1', api_key: 'secret' };
    const credential = await house.console(`${path}/credentials`, { body: fields });
    const tool = await house.console(`${path}/tools`, {
      body: { kind: 'http', name: 'Orders', url: 'http://127.0.0.1:9/call' },
    });
    t.same([credential.status, tool.status], [201, 201], 'this machine is allowed');
    for (const url of hosts.flatMap((host) => [`http://${host}/latest`, `https://${host}/latest`])) {
      for (const kind of ['model', 'voice', 'tool']) {
        const body = { kind, ...(kind !== 'tool' && { provider: 'openai' }), base_url: url, api_key: 'secret' };
        const answer = await house.console(`${path}/credentials`, { body });
        refused(t, answer, 422, 'invalid_request');
        t.match(answer.json.error.message, '`base_url`', `${kind}: ${url}`);
      }
      for (const kind of ['http', 'mcp']) {
        const answer = await house.console(`${path}/tools`, { body: { kind, name: 'Metadata', url } });
        refused(t, answer, 422, 'invalid_request');
        t.match(answer.json.error.message, '`url`', `${kind}: ${url}`);
      }
      const patch = { method: 'PATCH', body: { base_url: url, api_key: 'secret' } } as const;
      refused(t, await house.console(`${path}/credentials/${credential.json.id}`, patch), 422, 'invalid_request');
      refused(
        t,
        await house.console(`${path}/tools/${tool.json.id}`, { method: 'PATCH', body: { url } }),
        422,
        'invalid_request',
      );
    }
    t.match((await house.console(`${path}/credentials`)).json.data, [{ base_url: 'http://127.0.0.1:9/v1' }]);
    t.equal((await house.console(`${path}/tools/${tool.json.id}`)).json.url, 'http://127.0.0.1:9/call');
  },
);
