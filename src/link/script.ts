/** What the link's page runs: it asks for the visitor's fields, sends messages and shows replies as they stream. Text only ever becomes text. */
export const script = `'use strict';
const [, , slug, framed] = location.pathname.split('/');
const base = '/p/' + slug;
const element = (id) => document.getElementById(id);
const notice = (text) => { element('notice').textContent = text; };
let about, visitor, session;

async function ask(path, body) {
  const headers = visitor ? { authorization: 'Bearer ' + visitor.token } : {};
  if (body) headers['content-type'] = 'application/json';
  const answer = await fetch(base + path, { method: body ? 'POST' : 'GET', headers, body: body && JSON.stringify(body) });
  if (answer.ok) return answer;
  const { error } = await answer.json().catch(() => ({ error: { message: 'The server did not answer.' } }));
  const wait = Number(answer.headers.get('retry-after'));
  const at = new Date(Date.now() + wait * 1000).toLocaleTimeString([], { hour: '2-digit', minute: '2-digit' });
  throw new Error(answer.status === 429 ? (wait < 90 ? 'Please try again in ' + wait + ' seconds.' : 'Please try again after ' + at + '.') : error.message);
}

function said(role, text) {
  const item = document.createElement('li');
  item.className = role;
  item.dir = 'auto';
  item.textContent = text;
  element('messages').append(item);
  item.scrollIntoView({ block: 'end' });
  return item;
}

function fieldFor({ name, label, type, required }) {
  const row = document.createElement('label');
  const input = document.createElement('input');
  Object.assign(input, { name, required: required && type !== 'boolean', type: type === 'boolean' ? 'checkbox' : type, step: 'any' });
  row.append(label, input);
  element('fields').append(row);
}

function given() {
  const value = { number: (input) => Number(input.value), boolean: (input) => input.checked };
  const inputs = about.visitor_fields.map((field) => [field, element('fields').querySelector('[name="' + CSS.escape(field.name) + '"]')]);
  const filled = inputs.filter(([{ type }, input]) => type === 'boolean' || input.value !== '');
  return Object.fromEntries(filled.map(([{ name, type }, input]) => [name, (value[type] || (() => input.value))(input)]));
}

async function begin() {
  const host = new URLSearchParams(location.search).get('host') || undefined;
  visitor = visitor || (await (await ask('/visitors', { channel: framed === 'frame' ? 'widget' : 'link', host })).json());
  session = session || (await (await ask('/sessions', { visitor: given() })).json());
  element('fields').hidden = true;
}

async function reply(answer) {
  const item = said('assistant', '');
  const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
  for (let text = ''; ; ) {
    const { done, value } = await reader.read();
    if (done) return;
    const events = (text + value).split('\\n\\n');
    text = events.pop();
    for (const event of events) {
      const [, name] = /^event: (.*)$/m.exec(event) || [];
      const [, data] = /^data: (.*)$/m.exec(event) || [];
      if (name === 'message.delta') item.textContent += JSON.parse(data).text;
      if (name === 'error') notice(JSON.parse(data).message);
    }
  }
}

element('talk').addEventListener('submit', async (event) => {
  event.preventDefault();
  const message = element('message').value.trim();
  if (message === '') return;
  notice('');
  element('send').disabled = true;
  try {
    await begin();
    const answer = await ask('/sessions/' + session.id + '/chat', { message });
    said('user', message);
    element('message').value = '';
    await reply(answer);
  } catch (error) {
    notice(error.message);
  }
  element('send').disabled = false;
  element('message').focus();
});

ask('/about').then(async (answer) => {
  about = await answer.json();
  document.title = element('name').textContent = about.name;
  element('description').textContent = about.description || '';
  if (about.greeting) said('assistant', about.greeting);
  if (about.status === 'closed') return notice('This assistant is not available at the moment.');
  about.visitor_fields.forEach(fieldFor);
  element('message').maxLength = about.message_characters_max * 2;
  element('talk').hidden = false;
}).catch((error) => notice(error.message));
`;
