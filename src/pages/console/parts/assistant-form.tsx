/** The form of an assistant, in sections. */
import type { ComponentChildren } from 'preact';
import { aliasForm, aliasPattern, aliasTaken, htmlPattern } from '../../../base/link-fields.ts';
import { inWorkspace } from '../route.ts';
import { plural } from '../format.ts';
import type { Credential, Tool } from '../types.ts';
import { bound, type FormOptions, type VisitorField } from './assistant-draft.ts';
import { durationPattern } from './duration.ts';
import { FallbackForm } from './fallback-form.tsx';
import { DeskForm } from './desk-form.tsx';
import { Area, Check, Choice, faultOf, Input } from './field.tsx';
import { IdentityForm, type LinkIdentity } from './identity-form.tsx';
import { LinkForm, WidgetForm } from './link-form.tsx';
import { ListField } from './list-field.tsx';
import type { LinkUse } from './link-use.ts';
import { isEmbedded, ModelFields } from './model-fields.tsx';
import { hasVariables, PromptPreview } from './prompt-preview.tsx';
import { LinkOnSite, WidgetOnSite, type OnSiteOptions } from './on-site.tsx';
import { sections, type Section } from './assistant-sections.ts';
import { VoiceForm, type VoiceStand } from './voice-form.tsx';

interface Options extends FormOptions {
  readonly credentials: readonly Credential[];
  readonly tools: readonly Tool[];
  /** The link's use of its limits; null without a link. */
  readonly use: LinkUse | null;
  readonly voice: VoiceStand;
  readonly identity: LinkIdentity;
}

const variablesNote =
  'Variables: {{visitor.FIELD|default}}, {{metadata.KEY|default}}, {{channel}}, {{date}}, {{time}}, {{weekday}}, {{assistant.name}}, {{session.id}}.';

/** All sections are in the form, and one is shown: what is typed in the others stays, and is checked with it. */
export function AssistantForm({
  shown,
  onSite,
  ...options
}: Options & { readonly shown: Section; readonly onSite: OnSiteOptions | null }) {
  const content: Readonly<Record<Section, ComponentChildren>> = {
    general: <General {...options} />,
    model: <Model {...options} />,
    tools: <Tools {...options} />,
    voice: <VoiceForm {...options} />,
    'pre-chat': <PreChat {...options} />,
    link: (
      <>
        <LinkForm {...options} />
        {onSite && <LinkOnSite {...onSite} />}
        <IdentityForm {...options} assistant={options.voice.assistant} />
      </>
    ),
    widget: (
      <>
        <WidgetForm {...options} />
        {onSite && <WidgetOnSite {...onSite} />}
      </>
    ),
    desk: <DeskForm {...options} />,
  };
  return (
    <>
      {sections.map(([name, words]) => (
        <section key={name} class="fields" tabIndex={-1} aria-label={words} data-section={name} hidden={name !== shown}>
          {content[name]}
        </section>
      ))}
    </>
  );
}

const General = (options: Options) => (
  <>
    <Input label="Name" required {...bound(options, 'name', 'name')} autocomplete="off" />
    <Input
      label="Description"
      {...bound(options, 'description', 'description')}
      note="Shown to visitors and in API listings."
    />
    <Area
      label="Greeting"
      rows={2}
      {...bound(options, 'greeting', 'greeting')}
      note="First message of every conversation. Takes the same variables as the system prompt."
    />
    <Input
      label="Alias"
      pattern={htmlPattern(aliasPattern)}
      title={`${aliasForm}.`}
      {...bound(options, 'alias', 'alias')}
      fault={faultOf(options.failure, 'alias') && aliasTaken}
      autocomplete="off"
      note={`Model name for OpenAI clients, tool name for MCP clients. ${aliasForm}.`}
    />
    <Input
      label="Max session length"
      pattern={durationPattern}
      required
      {...bound(options, 'maxCall', 'max_call_seconds')}
      note="1 h, 90 min, … 7 days at most. A session expires after this time, even while it is in use."
    />
    <Choice
      label="Open sessions after a release"
      {...bound(options, 'sessionPolicy', 'session_policy')}
      choices={[
        ['pin', 'Keep their version'],
        ['follow', 'Take the new version at their next turn'],
      ]}
      note="Effective at once, without publishing."
    />
    <Check
      label="Require tests"
      checked={options.draft.requireTests}
      onValue={(requireTests) => options.change({ requireTests })}
      note="A draft is published, or rolled out, only once all tests have passed on it. A rollback is never refused. Effective at once."
    />
  </>
);

function Model(options: Options) {
  const { draft, change, credentials, failure, voice } = options;
  return (
    <>
      <ModelFields model={draft} change={change} credentials={credentials} path="model." failure={failure} />
      <Area
        label="System prompt"
        rows={6}
        {...bound(options, 'systemPrompt', 'model.system_prompt')}
        note={`Instructions to the model before each conversation. ${variablesNote}`}
      />
      {voice.assistant !== null && (hasVariables(draft.systemPrompt) || hasVariables(draft.greeting)) && (
        <PromptPreview assistant={voice.assistant} draft={draft} />
      )}
      {!isEmbedded(draft) && (
        <div class="pair">
          <Input
            label="Max history tokens"
            type="number"
            min={1}
            max={1_000_000}
            {...bound(options, 'historyTokens', 'model.history_tokens_max')}
            note="Conversation history sent to the model; empty: 8,000."
          />
          <Input
            label="Temperature"
            type="number"
            min={0}
            max={2}
            step="any"
            {...bound(options, 'temperature', 'model.temperature')}
            note="0 to 2; empty: the provider's default."
          />
          <Input
            label="Max output tokens"
            type="number"
            min={1}
            max={1_000_000}
            {...bound(options, 'outputTokens', 'model.output_tokens_max')}
            note="Empty: the provider's default."
          />
          <Choice
            label="Reasoning"
            {...bound(options, 'reasoning', 'model.reasoning')}
            choices={[
              ['hidden', 'Hidden'],
              ['shown', 'Shown'],
            ]}
            note="The model's thoughts before its answer."
          />
        </div>
      )}
      <FallbackForm
        fallbacks={draft.fallbacks}
        change={(fallbacks) => change({ fallbacks })}
        credentials={credentials}
        failure={failure}
      />
    </>
  );
}

const enabledOf = ({ functions }: Tool) => functions.filter(({ enabled }) => enabled).map(({ name }) => name);

function Tools(options: Options) {
  const { draft, change, tools, failure } = options;
  const fault = faultOf(failure, 'tool_ids');
  const chosen = tools.filter(({ id }) => draft.toolIds.includes(id));
  const names = chosen.flatMap(enabledOf);
  const twice = names.filter((name, index) => names.indexOf(name) !== index);
  const set = (id: string, has: boolean) =>
    change({ toolIds: has ? [...draft.toolIds, id] : draft.toolIds.filter((one) => one !== id) });
  return (
    <>
      {tools.length === 0 && (
        <p class="note">
          There are none yet. A tool lets it look things up and act: <a href={inWorkspace('tools')}>create one</a>.
        </p>
      )}
      {tools.map((tool) => (
        <Check
          key={tool.id}
          label={tool.name}
          checked={draft.toolIds.includes(tool.id)}
          onValue={(has) => set(tool.id, has)}
          invalid={fault !== null}
          note={enabledOf(tool).length === 0 ? 'no function is on' : enabledOf(tool).join(', ')}
        />
      ))}
      {(fault !== null || twice.length > 0) && (
        <small class="fault">
          {fault}{' '}
          {twice.length > 0
            ? `Two tools have a function ${twice.join(', ')}: turn one of them off, or leave one tool out.`
            : '16 tools at most, with 64 functions that are on and names that differ.'}
        </small>
      )}
      {tools.length > 0 && (
        <Input
          label="Max tool rounds per turn"
          type="number"
          min={1}
          max={25}
          required
          {...bound(options, 'toolRounds', 'tool_rounds_max')}
          note={`After them it must answer without a call. ${plural(names.length, 'function')} offered.`}
        />
      )}
    </>
  );
}

function PreChat({ draft: { fields }, change, failure }: Options) {
  return (
    <>
      {fields.length === 0 && (
        <p class="note">No fields. Required fields are collected before the conversation starts.</p>
      )}
      <ListField<VisitorField>
        rows={fields}
        change={(all) => change({ fields: all })}
        add="Add a field"
        added={{ name: '', label: '', type: 'text', required: false }}
      >
        {(field, index, { set, remove }) => (
          <div class="visitor">
            <Input
              label="Name"
              value={field.name}
              onValue={(name) => set({ name })}
              required
              pattern="[A-Za-z][A-Za-z0-9_]{0,63}"
              path={`visitor_fields.${index}.name`}
              failure={failure}
            />
            <Input label="Label" value={field.label} onValue={(label) => set({ label })} />
            <Choice
              label="Kind"
              value={field.type}
              onValue={(type) => set({ type: type as VisitorField['type'] })}
              choices={[
                ['text', 'text'],
                ['email', 'email'],
                ['number', 'number'],
                ['boolean', 'yes or no'],
              ]}
            />
            <Check label="Required" checked={field.required} onValue={(required) => set({ required })} />
            {remove(`the field ${field.name}`)}
          </div>
        )}
      </ListField>
    </>
  );
}
