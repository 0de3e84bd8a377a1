/** The shapes of an assistant's public link (contract 9). */
import { Type, type Static, type TInteger } from 'typebox';
import { limits } from '../base/limits.ts';
import { Id, named, Nullable, Strings, Text, UnixSeconds } from './basics.ts';
import { CreateSessionBody, SpeechBody, VisitorField } from './conversation.ts';
import { originCharactersMax } from '../base/link-fields.ts';
import { linkLimitNames, type LinkLimitName } from '../base/link-limits.ts';

export const LinkView = named(
  'Link',
  Type.Object({
    object: Type.Literal('link'),
    slug: Type.String(),
    name: Type.String(),
    description: Nullable(Type.String()),
    greeting: Nullable(Type.String()),
    visitor_fields: Type.Array(VisitorField),
    channels: Type.Object({ link: Type.Boolean(), widget: Type.Boolean() }),
    status: Strings(['open', 'closed'], '`open` while the assistant is published.'),
    feedback: Type.Boolean({ description: 'Whether visitors can rate replies.' }),
    desk: Type.Boolean({ description: 'Whether visitors can ask for a person.' }),
    message_characters_max: Type.Integer({ description: 'Code points that a message has at most.' }),
  }),
);

export const CreateVisitorBody = named(
  'CreateVisitor',
  Type.Object({
    channel: Strings(['link', 'widget']),
    // Any type is accepted, because a visitor of the link may send anything there; with `widget` the handler checks it.
    host: Type.Optional(
      Type.Unknown({
        description: `The origin of the page that the widget is on, a string of at most ${originCharactersMax} characters: required with \`widget\`, ignored with \`link\`.`,
      }),
    ),
    identity: Type.Optional(
      Text(
        limits.identityCharactersMax,
        0,
        'A JWT of the site (HS256 by the secret of the link): `sub`, `exp` at most a day ahead, and `visitor`, fields that win over those that the visitor fills in.',
      ),
    ),
  }),
);
export type CreateVisitorBody = Static<typeof CreateVisitorBody>;

export const VisitorView = named(
  'Visitor',
  Type.Object({
    object: Type.Literal('visitor'),
    id: Id('vis'),
    token: Type.String({ description: 'For `Authorization: Bearer`.' }),
    expires_at: UnixSeconds(),
  }),
);

const { assistant_id: _, ...ofSession } = CreateSessionBody.properties;
export const CreateLinkSessionBody = named('CreateLinkSession', Type.Object(ofSession));
export type CreateLinkSessionBody = Static<typeof CreateLinkSessionBody>;

const session = { session_id: Text(limits.bodyBytesMax, 1, "The visitor's session.") };

const { assistant_id: __, ...ofSpeech } = SpeechBody.properties;
export const LinkSpeechBody = named('LinkSpeech', Type.Object({ ...session, ...ofSpeech }));
export type LinkSpeechBody = Static<typeof LinkSpeechBody>;

export const CreateLinkTranscriptionTokenBody = named('CreateLinkTranscriptionToken', Type.Object(session));
export type CreateLinkTranscriptionTokenBody = Static<typeof CreateLinkTranscriptionTokenBody>;

export const LinkPageQuery = Type.Object({
  lang: Type.Optional(
    Type.String({ description: "The language of the page's words, as a BCP 47 tag, instead of the browser's." }),
  ),
});
export const FrameQuery = Type.Object({
  host: Type.Optional(Type.String({ description: 'The origin of the site that frames the page.' })),
  ...LinkPageQuery.properties,
});

export const LinkIdentityView = named(
  'LinkIdentity',
  Type.Object({
    secret: Type.String({ description: 'The key of the HMAC, this text itself. It is shown once.' }),
  }),
);

export const LinkStatusView = named(
  'LinkStatus',
  Type.Object({
    object: Type.Literal('link_status'),
    url: Nullable(Type.String({ description: 'Where the page is; null without a slug.' })),
    snippet: Nullable(Type.String({ description: 'The HTML that puts the widget on a site; null without a slug.' })),
    day: Type.String({ pattern: '^\\d{4}-\\d{2}-\\d{2}$', description: 'The day in UTC.' }),
    minutes_used: Type.Number({ description: 'Of this day, with one decimal.' }),
    visitors_present: Type.Integer({ description: 'Visitors whose clock runs.' }),
    refused: Type.Object(
      Object.fromEntries(linkLimitNames.map((name) => [name, Type.Integer()])) as Record<LinkLimitName, TInteger>,
      { description: 'Refusals of this day, by limit.' },
    ),
    resets_at: UnixSeconds(),
  }),
);
export type LinkStatusView = Static<typeof LinkStatusView>;
