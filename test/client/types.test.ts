/**
 * The client's types equal the types of the server's validators, and its codes equal the one table's. A difference does
 * not compile.
 */
import t from 'tap';
import type { Static, TSchema } from 'typebox';
import type { CallSettings, CallToken } from '../../src/client/call-messages.ts';
import type * as client from '../../src/client/types.ts';
import { errors } from '../../src/base/errors.ts';
import type * as wire from '../../src/wire/wire.ts';

/** The same type flattened, so that its composition does not matter. */
type Plain<T> = T extends readonly (infer Item)[]
  ? Plain<Item>[]
  : T extends object
    ? { [Name in keyof T]: Plain<T[Name]> }
    : T;
/** Whether neither differs from the other, optional fields and unions included. */
type Same<A, B> = (<T>() => T extends Plain<A> ? 1 : 2) extends <T>() => T extends Plain<B> ? 1 : 2 ? true : false;
type View<S extends TSchema> = Static<S>;
/** Queries and events carry the same names; `type` beside the data says which event it is. */
type EventOf<Name extends keyof typeof wire.events> = { type: Name } & View<(typeof wire.events)[Name]>;
type SessionEventOf<Name extends keyof typeof wire.sessionEvents> = { type: Name } & View<
  (typeof wire.sessionEvents)[Name]
>;
type Code = (typeof errors)[keyof typeof errors]['code'];

/** Each of these is `true` by its type, or the compiler refuses the file. */
const same: {
  readonly Assistant: Same<client.Assistant, View<typeof wire.AssistantView>>;
  readonly VisitorField: Same<client.VisitorField, View<typeof wire.VisitorField>>;
  readonly Session: Same<client.Session, View<typeof wire.SessionView>>;
  readonly NewSession: Same<client.NewSession, View<typeof wire.CreateSessionBody>>;
  readonly TurnRecord: Same<client.TurnRecord, View<typeof wire.TurnView>>;
  readonly Message: Same<client.Message, View<typeof wire.MessageView>>;
  readonly Usage: Same<client.Usage, View<typeof wire.UsageView>>;
  readonly List: Same<client.List<client.Session>, View<typeof wire.SessionList>>;
  readonly PageQuery: Same<client.PageQuery, View<typeof wire.AssistantsQuery>>;
  readonly transcript: Same<client.PageQuery, View<typeof wire.TranscriptQuery>>;
  readonly SessionsQuery: Same<client.SessionsQuery, View<typeof wire.SessionsQuery>>;
  readonly UsageQuery: Same<client.UsageQuery, View<typeof wire.UsageQuery>>;
  readonly Voice: Same<client.Voice, View<typeof wire.VoiceView>>;
  readonly VoicesQuery: Same<client.VoicesQuery, View<typeof wire.VoicesQuery>>;
  readonly NewSpeech: Same<client.NewSpeech, wire.SpeechBody>;
  readonly NewTranscription: Same<
    client.NewTranscription,
    wire.CreateTranscriptionTokenBody & Omit<wire.StartMessage, 'type'>
  >;
  readonly Link: Same<client.Link, View<typeof wire.LinkView>>;
  readonly Visitor: Same<client.Visitor, View<typeof wire.VisitorView>>;
  readonly NewVisitorSession: Same<client.NewVisitorSession, wire.CreateLinkSessionBody>;
  readonly NewVisitorSpeech: Same<client.NewVisitorSpeech, wire.LinkSpeechBody>;
  readonly NewVisitorTranscription: Same<
    client.NewVisitorTranscription,
    wire.CreateLinkTranscriptionTokenBody & Omit<wire.StartMessage, 'type'>
  >;
  readonly TranscriptionMessage: Same<
    client.TranscriptionMessage,
    View<
      Exclude<
        (typeof wire.TranscriptionEvents)[keyof typeof wire.TranscriptionEvents],
        typeof wire.TranscriptionEvents.error
      >
    >
  >;
  readonly TurnEvent: Same<
    client.TurnEvent,
    | EventOf<'turn.started'>
    | EventOf<'message.delta'>
    | EventOf<'tool.started'>
    | EventOf<'tool.ended'>
    | EventOf<'turn.completed'>
    | EventOf<'message.accepted'>
    | EventOf<'turn.aborted'>
  >;
  readonly SessionEvent: Same<
    Exclude<client.SessionEvent, { type: 'message.created' }>,
    | SessionEventOf<'turn.started'>
    | SessionEventOf<'turn.ended'>
    | SessionEventOf<'attendance.changed'>
    | SessionEventOf<'session.ended'>
  >;
  readonly CallToken: Same<CallToken, View<typeof wire.CallTokenView>>;
  readonly CallSettings: Same<CallSettings, Omit<wire.CallQuery, 'token'>>;
  readonly ErrorCode: Same<client.ErrorCode, Code>;
} = {
  Assistant: true,
  VisitorField: true,
  Session: true,
  NewSession: true,
  TurnRecord: true,
  Message: true,
  Usage: true,
  List: true,
  PageQuery: true,
  transcript: true,
  SessionsQuery: true,
  UsageQuery: true,
  Voice: true,
  VoicesQuery: true,
  NewSpeech: true,
  NewTranscription: true,
  Link: true,
  Visitor: true,
  NewVisitorSession: true,
  NewVisitorSpeech: true,
  NewVisitorTranscription: true,
  TranscriptionMessage: true,
  TurnEvent: true,
  SessionEvent: true,
  CallToken: true,
  CallSettings: true,
  ErrorCode: true,
};

/** The comparison sees a difference in either direction. */
const different: {
  readonly more: Same<client.Session & { more: string }, client.Session>;
  readonly less: Same<Omit<client.Session, 'id'>, client.Session>;
  readonly optional: Same<Partial<client.NewSession>, client.NewSession>;
  readonly wider: Same<{ status: string }, Pick<client.Session, 'status'>>;
  readonly narrower: Same<{ status: 'open' }, Pick<client.Session, 'status'>>;
  readonly within: Same<{ data: (client.UsageCounts & { start: string })[] }, Pick<client.Usage, 'data'>>;
} = { more: false, less: false, optional: false, wider: false, narrower: false, within: false };

t.test('every shape is the same in both directions', async (t) => {
  t.ok(Object.values(same).every((one) => one === true));
  t.ok(Object.values(different).every((one) => one === false));
});

t.test("the error types are the table's", async (t) => {
  const types: Record<client.ErrorType, true> = {
    invalid_request: true,
    authentication_error: true,
    permission_error: true,
    not_found: true,
    conflict: true,
    rate_limit_error: true,
    api_error: true,
    service_unavailable: true,
  };
  t.same(new Set(Object.values(errors).map(({ type }) => type)), new Set(Object.keys(types)));
});
