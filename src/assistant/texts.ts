/** An assistant's prompt and greeting, and the notes of its desk, with their variables filled (contract 19 and 23). */
import { fillTemplate, parseTemplate, timeFact, type Variable } from '../base/variables.ts';
import type { Assistant, Session } from '../store/store.ts';
import { templatesOf } from '../store/records/settings.ts';

type Texts = Pick<Assistant, 'name' | 'greeting' | 'model' | 'hasVariables'>;
type Filling = Pick<Session, 'id' | 'channel' | 'visitor' | 'metadata'>;

/** The prompt for a turn that began at `beganAt`, in Unix seconds. */
export const promptFor = (assistant: Texts, session: Filling, beganAt: number): string | null =>
  filled(templatesOf(assistant).prompt, assistant, session, beganAt);

/** The greeting of a session; null if it is empty. */
export const greetingFor = (assistant: Texts, session: Filling & Pick<Session, 'createdAt'>): string | null =>
  filled(templatesOf(assistant).greeting, assistant, session, session.createdAt) || null;

/** A note of the desk; null if it is empty. `person`: the name of the person who joins or leaves; empty for none. */
export const noteFor = (
  template: string | null,
  assistant: Texts,
  session: Filling,
  at: number,
  person: string,
): string | null =>
  (template &&
    fillTemplate(template, (variable) =>
      variable.name === 'person.name' ? person : valueOf(variable, assistant, session, at),
    ).trim()) ||
  null;

/** The greeting with what is known without a session; null if it needs one. */
export function greetingBefore(assistant: Texts): string | null {
  const { greeting } = templatesOf(assistant);
  if (greeting === null) return null;
  const needsSession = parseTemplate(greeting)?.some(
    (part) => typeof part !== 'string' && !(part.of === 'facts' && part.name === 'assistant.name'),
  );
  return needsSession ? null : fillTemplate(greeting, () => assistant.name) || null;
}

const filled = (template: string | null, assistant: Texts, session: Filling, at: number): string | null =>
  template && fillTemplate(template, (variable) => valueOf(variable, assistant, session, at));

function valueOf(variable: Variable, { name }: Texts, session: Filling, at: number): string | undefined {
  if (variable.of !== 'facts') {
    const values = session[variable.of];
    return Object.hasOwn(values, variable.name) ? String(values[variable.name]) : undefined;
  }
  switch (variable.name) {
    case 'channel':
      return session.channel;
    case 'assistant.name':
      return name;
    case 'session.id':
      return session.id;
    case 'person.name':
      return undefined;
    default:
      return timeFact(variable.name, at);
  }
}
