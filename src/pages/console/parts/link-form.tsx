/**
 * The form's part about the public link and the widget: where they are, for whom, and within which limits, with what of
 * them is used.
 */
import type { ComponentChildren } from 'preact';
import { htmlPattern, originRule, slugForm, slugPattern, slugTaken } from '../../../base/link-fields.ts';
import type { LinkLimitName } from '../../../base/link-limits.ts';
import { count } from '../format.ts';
import { bound, type FormOptions } from './assistant-draft.ts';
import { Area, Check, faultOf, Input } from './field.tsx';
import { badOrigins } from './origins.ts';
import { sectionQuery } from './assistant-sections.ts';
import { worstDay } from './link-cost.ts';
import { defaultOf } from './link-limits.ts';
import type { LinkUse } from './link-use.ts';
import { Until } from './time.tsx';

interface Options extends FormOptions {
  readonly use: LinkUse | null;
}

export function LinkForm(options: Options) {
  const { draft, change, failure } = options;
  return (
    <>
      <Check
        label="Public link"
        note="A public page for everybody who has its address."
        checked={draft.linkOn}
        onValue={(linkOn) => change({ linkOn })}
      />
      <Input
        label="URL slug"
        required={draft.linkOn || draft.widgetOn}
        {...bound(options, 'slug', 'link.slug')}
        pattern={htmlPattern(slugPattern)}
        title={`${slugForm}.`}
        fault={faultOf(failure, 'link.slug') && slugTaken}
        maxLength={64}
        note={`${location.origin}/p/${draft.slug || '…'} (${slugForm}). The widget needs it too.`}
        spellcheck={false}
        autocomplete="off"
      />
      <Check
        label="Feedback"
        note="Two buttons under each reply, on the page and in the widget."
        checked={draft.feedbackOn}
        onValue={(feedbackOn) => change({ feedbackOn })}
      />
      {(draft.linkOn || draft.widgetOn || draft.slug !== '') && <Limits {...options} />}
    </>
  );
}

export function WidgetForm(options: Options) {
  const { draft, change, failure } = options;
  const bad = failure !== null && faultOf(failure, 'link.origins') !== null ? badOrigins(draft.origins) : [];
  const fault =
    bad.length === 0
      ? null
      : `\`link.origins\`: ${bad.join(', ')} ${bad.length === 1 ? 'is no origin' : 'are no origins'}. ${originRule}`;
  return (
    <>
      <Check
        label="Widget"
        note="A button on your sites, with the same conversation and the limits of the link."
        checked={draft.widgetOn}
        onValue={(widgetOn) => change({ widgetOn })}
      />
      {draft.widgetOn && draft.slug.trim() === '' && (
        <p class="note">
          It needs the URL slug, which is set under <a href={sectionQuery('link')}>Link</a>.
        </p>
      )}
      {draft.widgetOn && (
        <Area
          label="Allowed origins"
          rows={2}
          {...bound(options, 'origins', 'link.origins')}
          fault={fault}
          note="One per line: https://example.com, https://*.example.com, http://localhost:3000, or * for every site. Without an origin the widget is disabled."
        />
      )}
    </>
  );
}

function Limits({ draft, change, failure, use }: Options) {
  const field = (name: LinkLimitName, label: string, note: ComponentChildren) => (
    <Input
      label={label}
      value={draft.linkLimits[name] ?? ''}
      onValue={(value) => change({ linkLimits: { ...draft.linkLimits, [name]: value } })}
      pattern="0*[0-9]{1,6}|0*1000000|none"
      title="A whole number from 0 to 1,000,000, or none."
      placeholder={String(defaultOf(draft.linkLimits, name) ?? 'none')}
      path={`link.limits.${name}`}
      failure={failure}
      autocomplete="off"
      note={note}
    />
  );
  const status = use?.status ?? null;
  const refused = (name: LinkLimitName) =>
    status && (
      <span class={status.refused[name] > 0 ? 'fault' : undefined}>{count(status.refused[name])} refused today</span>
    );
  const used = (words: string) => status && `${words}, `;
  return (
    <>
      <h3>Limits of link and widget (empty = default, 0 = closed, none = unlimited)</h3>
      <div class="pair">
        {field(
          'minutes_per_day',
          'Minutes per day',
          <>
            {used(`${status?.minutes_used} used`)}
            {refused('minutes_per_day')}
          </>,
        )}
        {field(
          'concurrent_visitors',
          'Visitors at a time',
          <>
            {used(`${status?.visitors_present} present`)}
            {refused('concurrent_visitors')}
          </>,
        )}
        {field('messages_per_visitor_per_day', 'Messages per visitor per day', refused('messages_per_visitor_per_day'))}
        {field(
          'messages_per_address_per_hour',
          'Messages per IP address per hour',
          refused('messages_per_address_per_hour'),
        )}
        {field('places_per_address', 'Visitors per IP address', refused('places_per_address'))}
        {field('minutes_per_address', 'Minutes per IP address', refused('minutes_per_address'))}
      </div>
      {use?.addressesShared && (
        <p class="banner" role="note">
          A request came with <code>X-Forwarded-For</code> from an address that the server does not know as a proxy. If
          it was your proxy, all visitors share the limits of one address: name it in{' '}
          <code>PARLEY_TRUSTED_PROXIES</code> and start the server again. A visitor can also have made the header up.
        </p>
      )}
      <p class="note">
        {worstDay(draft)}
        {status && (
          <>
            {' '}
            Minutes, visitors’ messages and refusals are counted from 00:00 UTC; the next day begins in{' '}
            <Until at={status.resets_at} />.
          </>
        )}
      </p>
    </>
  );
}
