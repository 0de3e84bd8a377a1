/** Words over a reply, and texts that stop in the middle. */
import t from 'tap';
import {
  classifyInterruption,
  type Interruption,
  type SpokenReply,
} from '../../../src/providers/voice/interruption.ts';
import { unfinished } from '../../../src/providers/voice/unfinished.ts';

const reply: SpokenReply = {
  lately: 'We are open from nine to six. It’s a small shop.',
  lastSentence: 'It’s a small shop.',
  outlasted: false,
};
const asks: SpokenReply = { ...reply, lastSentence: 'Shall I book it?' };
const outlasted: SpokenReply = { ...reply, outlasted: true };

const cases: readonly (readonly [Interruption, string, SpokenReply | null])[] = [
  ['none', '', reply],
  ['none', ' ... ', reply],
  ['none', '', null],
  ['counts', 'Stop.', reply],
  ['counts', 'No, the other one.', reply],
  ['counts', 'yeah', null],
  ['counts', 'open from nine', null],

  ...'uh-huh,Uh huh.,mm-hmm,Mmhmm!,mhm,hmm,yeah,YEAH,yep,yes,okay,ok,O.K.,right,sure,alright,All right.,good,great,wow,really,oh,I see.,got it'
    .split(',')
    .map((text): readonly [Interruption, string, SpokenReply] => ['backchannel', text, reply]),
  ['backchannel', 'Okay, great. Got it!', reply],
  ['backchannel', 'Oh, I see, I see.', reply],
  ['counts', 'okay stop', reply],
  ['counts', 'yes but why', reply],
  ['counts', 'I', reply],
  ['counts', 'see', reply],
  ['counts', 'rights', reply],
  ['counts', 'Yes.', asks],
  ['counts', 'Yes.', { ...asks, lastSentence: 'Did she say “now?” ' }],
  ['counts', 'Yes.', outlasted],

  ['echo', 'open from nine', reply],
  ['echo', 'Open nine!', reply],
  ['echo', "it's a small shop", reply],
  ['echo', 'open from nine', asks],
  ['echo', 'open from nine', outlasted],
  ['counts', 'nine', reply],
  ['counts', 'nine from open', reply],
  ['counts', 'open from nine stop', reply],
  ['counts', 'open from mine', reply],
  ['counts', 'open open', reply],
];

t.test('who is spoken to', async (t) => {
  for (const [verdict, text, over] of cases) t.equal(classifyInterruption(text, over), verdict, `"${text}"`);
});

t.test('a text of one word again and again is looked at once', async (t) => {
  const text = 'okay '.repeat(20_000);
  t.equal(classifyInterruption(text, reply), 'backchannel');
  t.equal(classifyInterruption(`${text}no`, { ...reply, lately: text }), 'counts');
});

t.test('an unfinished text is told from a finished one', async (t) => {
  const listed =
    'a an the and or but so because that if of to in on at for with from my your is are was um uh er'.split(' ');
  for (const word of [...listed, 'zero', 'twelve', 'thirty', 'hundred', 'million']) {
    t.ok(unfinished(`I said ${word}`), word);
    t.ok(unfinished(`I SAID ${word.toUpperCase()}`), `${word} in capitals`);
    t.ok(unfinished(word), `${word} alone`);
    t.notOk(unfinished(`I said x${word}`), `x${word}`);
    t.ok(unfinished(`I said ${word}.`), `${word} with the full stop of a recogniser`);
  }
  for (const text of ['Well,', 'call 555', '12', 'it is twenty-five', 'On the 3.']) t.ok(unfinished(text), text);
  for (const text of [
    '',
    'Hello',
    'We are done.',
    'That is all!',
    'what is your name?',
    'the end',
    "don't",
    'someone',
    'often',
    "what it's",
  ])
    t.notOk(unfinished(text), text);
});
