/**
 * Answers in all their forms: the events read from each, however its bytes come, and from a second request to the same
 * provider.
 */
import t from 'tap';
import { limits } from '../../../src/base/limits.ts';
import { anthropicModel } from '../../../src/providers/model/anthropic.ts';
import { openaiModel } from '../../../src/providers/model/openai.ts';
import type { ProviderHttp, ProviderListener } from '../../../src/providers/client.ts';
import { raw } from '../client/raw.ts';
import { bytesOf, forms } from './forms.ts';
import type { Form } from './forms.ts';
import { ask, client, data, delta, done, Heard, request } from './provider.ts';
import { providerSpaceCharactersMax } from '../../../src/providers/model/reasoning.ts';
import { providerReadBytes } from '../../../src/providers/client/dial.ts';

const models = { openai: openaiModel, anthropic: anthropicModel };

t.test('a stream is read alike over a connection', async (t) => {
  const usual = {
    openai: forms.get('openai: the usual stream')!,
    anthropic: forms.get('anthropic: the usual stream')!,
  };
  let answer = usual.openai;
  const server = await raw(t, ({ socket }) => {
    const { then } = answer;
    socket.write(bytesOf(answer), () => then === 'cut' && socket.end());
  });
  const http = client(t, { graceMs: 50 });
  for (const [name, form] of forms) {
    answer = form;
    const over = { baseUrl: server.baseUrl, reasoning: form.reasoning ?? 'hidden' };
    const heard = ask(models[form.kind](http), over);
    t.equal(await heard.settled, form.ending, name);
    t.equal(heard.said, form.said, name);
    t.notOk(heard.pieces.includes(''), name);
    if (form.usage !== undefined) t.same(heard.usageGiven, form.usage, name);
    answer = usual[form.kind];
    const next = ask(models[form.kind](http), over);
    t.same([await next.settled, next.said], ['end', 'Hello'], `${name}: the next`);
    t.same([heard.endings, next.endings], [[form.ending], ['end']], name);
  }
});

/** Reads a body whose pieces end at the cuts, without a connection. */
function hear(
  { kind, reasoning = 'hidden', then }: Pick<Form, 'kind' | 'reasoning' | 'then'>,
  body: Buffer,
  cuts: Iterable<number>,
): Heard {
  let listener!: ProviderListener;
  const call = { outputBegan() {}, outputEnded() {}, release() {}, cancel() {}, hold() {}, resume() {} };
  const http: ProviderHttp = {
    post: (_post, given) => ((listener = given), call),
    get: () => call,
    speaksHttp2: () => Promise.resolve(false),
    now: () => 0,
    close: async () => {},
  };
  const heard = new Heard();
  models[kind](http).start(request({ reasoning }), heard);
  listener.head('', '', {
    status: 200,
    contentType: '',
    contentEncoding: '',
    mcpSession: '',
    location: '',
    retryAfter: '',
    body: 'until close',
    keptMs: 0,
  });
  let from = 0;
  for (const cut of [...cuts, body.length]) {
    // Chunks share one buffer, as reads of a connection do, and no chunk follows a release.
    if (cut > from && heard.endings.length === 0) listener.data(body.subarray(from, cut));
    from = cut;
  }
  if (heard.endings.length > 0) return heard;
  if (then === undefined) listener.ended();
  else listener.failed(then === 'cut' ? 'cut' : 'idle_timeout', null, '', '', '');
  return heard;
}

const short = [...forms].filter(([, { body, head = '' }]) => body.length < 10_000 && !head.includes('length'));
const everyByte = function* (body: Buffer): Generator<number> {
  for (let at = 1; at < body.length; at++) yield at;
};
const sums = (heard: Heard): string => JSON.stringify([heard.endings, heard.said, heard.usageGiven]);

t.test('however the bytes are cut, with whatever line ends, behind a mark or not', async (t) => {
  for (const [name, form] of short) {
    const plain = Buffer.from(form.body);
    const whole = hear(form, plain, []);
    t.same([whole.endings, whole.said], [[form.ending], form.said], name);
    const apart: string[] = [];
    for (const cut of everyByte(plain)) if (sums(hear(form, plain, [cut])) !== sums(whole)) apart.push(`cut at ${cut}`);
    for (const lineEnd of ['\n', '\r\n', '\r']) {
      for (const mark of ['', '\ufeff']) {
        const body = Buffer.from(mark + form.body.replaceAll('\n', lineEnd));
        for (const [how, cuts] of [
          ['whole', []],
          ['byte by byte', everyByte(body)],
          ['in halves', [body.length >> 1]],
        ] as const) {
          if (sums(hear(form, body, cuts)) !== sums(whole)) apart.push(`${JSON.stringify(mark + lineEnd)} ${how}`);
        }
      }
    }
    t.same(apart, [], name);
  }
});

const times = 100_000;
const cpuMs = (work: () => void): number => {
  const before = process.cpuUsage();
  work();
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1000;
};
/** Bytes of one read of a connection. */
const reads = function* (body: Buffer): Generator<number> {
  for (let at = providerReadBytes; at < body.length; at += providerReadBytes) yield at;
};

t.test('a hundred thousand of what says nothing cost no more than to read them', async (t) => {
  const nothings = {
    'empty events': 'data:\n\n',
    'line ends': '\n',
    'line ends, CR': '\r',
    'line ends, CRLF': '\r\n',
    comments: ':\n',
    'comments, each an event': ': wait\n\n',
    'comments, CR': ':\r',
    pings: 'event: ping\ndata: ping\n\n',
    'unknown fields': 'x\n',
    'retry times': 'retry: 1\n',
    'empty choices': data({ choices: [] }),
    'empty deltas': delta(''),
    'reasoning in a field': data({ choices: [{ delta: { reasoning: 'hm' } }] }),
    'white space': delta(' '),
    'reasoning in tags': delta('<think>'),
    'beginnings of a closing tag': delta('</think'),
  };
  for (const [name, nothing] of Object.entries(nothings)) {
    const within = name.includes('closing') ? delta('<think>') : '';
    const body = Buffer.from(
      `${within}${nothing.repeat(times)}\n\n${within === '' ? '' : delta('</think>')}${delta('Hello', 'stop')}${done}`,
    );
    let heard!: Heard;
    // Ten times the time that it takes; a quadratic parser would take hundreds of times as long.
    t.ok(cpuMs(() => (heard = hear({ kind: 'openai' }, body, reads(body)))) < 5000, name);
    t.same(heard.endings, ['end'], name);
    t.equal(heard.said.trim(), name === 'reasoning in tags' ? '' : 'Hello', name);
  }
});

t.test('endless answers are bounded', async (t) => {
  const many = 'x'.repeat(limits.providerEventCharactersMax + 1);
  const bodies = {
    'a line': `data: ${many}`,
    'a comment': `: ${many}`,
    'a name': `event: ${many}`,
    'an event of many lines': `data: ${'x'.repeat(99)}\n`.repeat(limits.providerEventCharactersMax / 100 + 1),
    JSON: `{"a":"${many}"`,
    'a list': `["${many}"`,
  };
  for (const [name, body] of Object.entries(bodies)) {
    const bytes = Buffer.from(body);
    t.same(hear({ kind: 'openai' }, bytes, reads(bytes)).endings, ['malformed'], name);
    t.same(
      sums(hear({ kind: 'openai' }, Buffer.concat([Buffer.from(delta('Hello', 'stop')), bytes]), reads(bytes))),
      sums(hear({ kind: 'openai' }, Buffer.from(delta('Hello', 'stop')), [])),
      `${name}, after the finish`,
    );
  }
  const space = delta(' '.repeat(1000));
  const heard = hear({ kind: 'openai' }, Buffer.from(space.repeat(2 + providerSpaceCharactersMax / 1000)), []);
  t.ok(heard.said.length > providerSpaceCharactersMax, 'white space is not held for ever');
});

t.test('a list nested too deep is refused', async (t) => {
  const deep = '['.repeat(1_000_000);
  for (const body of [`data: {"choices":${deep}`, `{"choices":${deep}`, `data: ${deep}\n\n`])
    t.not(hear({ kind: 'openai' }, Buffer.from(body), []).endings[0], 'end');
});
