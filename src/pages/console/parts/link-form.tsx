/** The form's part about the public link and the widget: where they are, for whom, and within which limits, with what of them is used. */
import type { ComponentChildren } from 'preact';
import { count } from '../format.ts';
import { bound, type FormOptions } from './assistant-draft.ts';
import { Area, Check, Input } from './field.tsx';
import { worstDay } from './link-cost.ts';
import { defaultOf, type LinkLimit } from './link-limits.ts';
import type { LinkUse } from './link-use.ts';
import { Until } from './time.tsx';

interface Options extends FormOptions {
  readonly use: LinkUse | null;
}

export function LinkForm(options: Options) {
  const { draft, change } = options;
  return (
    <fieldset>
      <legend>Public link and widget</legend>
      <div class="pair">
        <Check label="Public link" note="A page of its own, for everybody who has its address." checked={draft.linkOn} onValue={(linkOn) => change({ linkOn })} />
        <Check label="Widget" note="A button on your sites, with the same conversation." checked={draft.widgetOn} onValue={(widgetOn) => change({ widgetOn })} />
      </div>
      {(draft.linkOn || draft.widgetOn || draft.slug !== '') && (
        <>
          <Input label="Slug: the end of its address" required={draft.linkOn || draft.widgetOn} {...bound(options, 'slug', 'link.slug')} pattern="[a-z0-9\-]{1,64}" maxLength={64} note={`${location.origin}/p/${draft.slug || '…'}: small letters, digits and hyphens.`} spellcheck={false} autocomplete="off" />
          {draft.widgetOn && <Area label="Sites that may show the widget" rows={2} {...bound(options, 'origins', 'link.origins')} note="One on each line: https://example.com, https://*.example.com, http://localhost:3000, or * for every site. With none it works nowhere." />}
          <Limits {...options} />
        </>
      )}
    </fieldset>
  );
}

function Limits({ draft, change, failure, use }: Options) {
  const field = (name: LinkLimit, label: string, note: ComponentChildren) => (
    <Input
      label={label}
      value={draft.linkLimits[name] ?? ''}
      onValue={(value) => change({ linkLimits: { ...draft.linkLimits, [name]: value } })}
      pattern="[0-9]{1,9}|none"
      placeholder={String(defaultOf(draft.linkLimits, name) ?? 'none')}
      path={`link.limits.${name}`}
      failure={failure}
      autocomplete="off"
      note={note}
    />
  );
  const status = use?.status ?? null;
  const refused = (name: LinkLimit) => status && <span class={status.refused[name] > 0 ? 'fault' : undefined}>{count(status.refused[name])} refused today</span>;
  const used = (words: string) => status && `${words}, `;
  return (
    <>
      <h3>Limits: a number, 0 for nobody, none for no limit</h3>
      <div class="pair">
        {field('minutes_per_day', 'Minutes a day', <>{used(`${status?.minutes_used} used`)}{refused('minutes_per_day')}</>)}
        {field('concurrent_visitors', 'Visitors at a time', <>{used(`${status?.visitors_present} present`)}{refused('concurrent_visitors')}</>)}
        {field('messages_per_visitor_per_day', 'Messages of a visitor a day', refused('messages_per_visitor_per_day'))}
        {field('messages_per_address_per_hour', 'Messages of an address an hour', refused('messages_per_address_per_hour'))}
        {field('places_per_address', 'Visitors per IP address', refused('places_per_address'))}
        {field('minutes_per_address', 'Minutes per IP address', refused('minutes_per_address'))}
      </div>
      {use?.addressesShared && (
        <p class="banner" role="note">
          A request came with <code>X-Forwarded-For</code> from an address that the server does not know as a proxy. If it was your proxy, all visitors share the limits of one address: name it in <code>PARLEY_TRUSTED_PROXIES</code> and start the server again. A visitor can also have made the header up.
        </p>
      )}
      <p class="note">
        {worstDay(draft)}
        {status && (
          <>
            {' '}
            Minutes, visitors’ messages and refusals are counted from 00:00 UTC; the next day begins in <Until at={status.resets_at} />.
          </>
        )}
      </p>
    </>
  );
}
