/** The settings of an assistant's desk: whether visitors can ask for a person, and what they read meanwhile. */
import { bound, type FormOptions } from './assistant-draft.ts';
import { durationPattern } from './duration.ts';
import { Area, Check, Choice, Input } from './field.tsx';

const notes = [
  ['deskWaiting', 'waiting', 'Note when a visitor waits', 'A colleague has been asked and will be here soon.'],
  ['deskJoined', 'joined', 'Note when a person joins', '{{person.name}} is here now.'],
  ['deskLeft', 'left', 'Note when the person leaves', '{{person.name}} has left. The assistant answers again.'],
  ['deskNobody', 'nobody', 'Note when nobody comes', 'Nobody is free at the moment. The assistant answers again.'],
] as const;

export const DeskForm = (options: FormOptions) => (
  <>
    <Check
      label="Visitors can ask for a person"
      checked={options.draft.deskOn}
      onValue={(deskOn) => options.change({ deskOn })}
      note="A button on link page and widget, and a function that the model may call. All settings of the desk are effective at once."
    />
    <div class="pair">
      <Input
        label="Max wait"
        pattern={durationPattern}
        required
        {...bound(options, 'deskWait', 'desk.wait_seconds')}
        note="10 s to 1 h. The assistant answers again if nobody has come."
      />
      <Choice
        label="While a visitor waits"
        {...bound(options, 'deskWhileWaiting', 'desk.while_waiting')}
        choices={[
          ['assistant', 'The assistant answers'],
          ['silent', 'The assistant is silent'],
        ]}
      />
    </div>
    {notes.map(([field, name, label, example]) => (
      <Area
        key={field}
        label={label}
        rows={2}
        placeholder={example}
        {...bound(options, field, `desk.texts.${name}`)}
        note="Empty: no note."
      />
    ))}
    <p class="note">Notes take the variables of the greeting, and {'{{person.name}}'}.</p>
  </>
);
