/** The case of the contract that must reject each broken store, and a check that it does. */
import type { Test } from 'tap';
import { cases, verdict, type Case, type Factory } from './contract.ts';

/** The broken stores that a case must reject, by the case's name; other cases may reject them too. */
const rejects: Readonly<Record<string, readonly string[]>> = {
  'a step of the desk on a session that has moved changes nothing': ['a step of the desk on a session that has moved'],
  'a turn that a step of the desk has silenced stores no output and no call, and is sealed with what it had': [
    'a take that does not silence its turn',
  ],
  'a step of the desk stores session and messages, and the list has the session until it leaves the desk': [
    'a step of the desk without its messages',
  ],
  'a message under a key is stored once': ['a message of the desk that is not remembered'],
  'a session is created only while the versions are those that its own was chosen from': [
    'a session created on versions that have changed',
  ],
  'a turn begins only while the versions are those that its own was chosen from': [
    'a turn begun on versions that have changed',
  ],
  'the turn that exceeds the rule halts the rollout in its own step, once, with its move in the history': [
    'a turn counted for its version with each sending of its end',
    'a rollout that is halted later than by its turn',
  ],
  'a rollout is halted by its own version and its own rule alone': [
    'a sealed turn that failed and is counted as completed',
  ],
  'a rollout that begins anew counts from zero, and one that is adjusted continues to count': [
    'a rollout that begins anew with the counts of the earlier one',
  ],
  'a withdrawn turn counts as failed for the rollout, once, and not for its version': [
    'a withdrawn turn that counts for no rollout',
  ],
  'versions that a change drops are removed with it, and not by a change that comes too late': [
    'versions that no change drops',
  ],
  'sessions, turns and feedback are counted for their versions': [
    'a sealed turn that is not counted for its version',
    'feedback that is not counted for its version',
  ],
  'each end of a turn stores one event for each webhook that wants it': ['a failed turn that is reported as completed'],
  'the step of an end that is sent again stores no second event': ['an event for each time that a step is sent'],
  'a finished turn that is withdrawn takes its event along, and no other': ['a withdrawn turn whose event stays'],
  'the end of a session stores one event, whichever step ends it': ['a session that ends twice for its webhooks'],
  'a trial, a disabled webhook, and a webhook of another workspace have no events': [
    'a trial that has events',
    'a disabled webhook that has events',
  ],
  'a delivery is claimed by one process until its lease ends, and settled by that one alone': [
    'a delivery that two processes claim',
    'a result that any process stores',
  ],
  'a claim takes at most its limit, the oldest due first, and leaves out the webhooks that it skips': [
    'a claim that skips nothing',
    'a claim without a limit',
  ],
  'deliveries are listed newest first, at most 100, and all pending ones are kept': ['deliveries listed oldest first'],
  'the pending deliveries of one webhook are failed, and a lease on them is lost': [
    'a failure that leaves deliveries pending',
  ],
  'a delivery of any status is due again when it is retried, and an unknown one is not found': [
    'a retry that leaves the lease',
  ],
  'open sessions past their deadline are found where a webhook is enabled, also those that are older than it': [
    'an overdue session that is found too early',
    'an overdue session that is found once',
  ],
  'a removed webhook leaves no delivery': ['a removed webhook whose deliveries stay'],
  'an erased and a discarded session leave no delivery': ['an erased session whose events stay'],
  'a workspace has five webhooks at most, also of many that are created at once, and a removed one makes room': [
    'a webhook beyond the bound that is taken',
  ],
  'a version is stored with the change of its assistant that makes it, and not by a change that comes too late': [
    'a version that its assistant names is not stored',
    'a version is stored apart from the change that makes it',
  ],
  'the versions of an assistant are removed with it, and those of other assistants stay': [
    'versions outlive their assistant',
  ],
  'an assistant has 200 tests at most, also of many that are created at once, and they are removed with it': [
    'tests outlive their assistant',
  ],
  'a turn is seized only when its lease has run out, and then its old owner is out': [
    'a write without the check of its owner',
    'a fence that is the epoch alone',
    'a turn seized from its living owner',
    'a write after the fence',
  ],
  "a lease that lapsed is not renewed when the turn was seized or its slot is somebody else's": [
    "a slot taken again that is somebody else's",
  ],
  'a slot comes free when its turn ends, is withdrawn or loses its lease': [
    'a slot that is a counter',
    'a slot that is kept when its turn ends',
    'a slot that is never free again',
  ],
  'slots of one name leave those of another free, and a turn may take none': [
    'one number of slots whatever their name',
  ],
  'of several saves on one version one wins, and none is lost unnoticed': [
    'a lost update: a save that does not compare',
  ],
  'of two moves that made the same version, a step that was decided on the one does not follow the other': [
    'a session known by its version alone',
    'a session known by the beginning of its mark',
  ],
  'never more turns in flight than slots, and a refused turn changes nothing': [
    'half a commit: a refused turn has moved the session',
    'a forgotten slot: no ceiling',
  ],
  'a begun turn stands whole: session, turn, both messages, slot and memory': [
    'half a commit: the request is not remembered with the turn',
  ],
  'a turn of a request that is remembered is not begun, whatever else would refuse it, until the memory ends': [
    'a turn begun again for a request that is remembered',
  ],
  'a piece that is stored already changes nothing, and of one that is stored in part the rest is stored': [
    'an append applied twice',
    'text cut within a code point',
  ],
  'output is read from any position on, while it streams and after, and the turn with it': [
    'text read from a position, a byte for each code point',
    'text read from a position, one piece late',
    'text read from a position counted in UTF-16 units',
    'text that ends before the position, told as if it ended there',
    'a turn read as it was, with the text as it is',
  ],
  'whoever reads a turn whose text is released is told when there is more to see, and of nothing else': [
    'a reader who is told of text that is not released',
    'a reader who is not told of what is released',
  ],
  'a follower of a session gets one notice of its next move, whichever step makes it': [
    'a follower of a session without a notice',
    'a follower of a session with a notice of each move',
    'a move whose notice stays with the session',
  ],
  'a follower of a session gets a notice of its removal': ['a removed session without a notice'],
  'a move is in the session that a follower reads, or is notified': [
    'a follower of a session that waits only after it has read',
  ],
  'whoever has read all there is of a turn is told once when there is more, and when it is over': [
    'a reader who is not told that there is more',
    'a reader who is told of every piece',
    'a reader who is not told of the end',
  ],
  'beginning a turn again answers as before and applies once, even when it is over': [
    'a turn begun twice when it is sent twice',
  ],
  'finishing a turn again answers as before and applies once': ['a turn finished twice when it is sent twice'],
  'creating a session again answers as before and applies once': ['a session counted twice when it is sent twice'],
  'a session that is discarded has never been': [
    'a session that is never discarded',
    'a session discarded though it has moved',
    'a session discarded without its memory',
  ],
  'a session begins with messages from before it, behind its greeting': [
    'a session without the messages from before it',
  ],
  'a session takes over the memory of the one that it replaces, and of no other': [
    'a session that replaces no other',
    'a session that replaces any other',
  ],
  'a finished turn is withdrawn under the fence that it was finished under, and no other': [
    'a finished turn that is withdrawn and stays counted',
  ],
  'a claimed turn is not withdrawn': ['a claim that keeps nothing'],
  'feedback on a finished turn is read with turn and message, counted in its second, and replaced or removed': [
    'feedback that is forgotten',
    'feedback that is never removed',
    'feedback that is counted with each sending',
  ],
  'a turn that has not begun is withdrawn as well: the step that would begin it comes too late': [
    'a turn that is withdrawn first and begins then',
  ],
  'a withdrawn turn leaves nothing behind': ['a withdrawn turn that leaves its messages'],
  'the budget that refuses goes into debt and the others stay as they were': [
    'a request charged to the budgets that would have passed it',
  ],
  'an erased session leaves nothing that can be read, and no step applies to it': [
    'an erasure that leaves the messages',
    'an erasure that leaves a turn in flight',
    'an erasure that takes the usage along',
    'an erased session that keeps its history',
  ],
  'an erasure counts each session, message and turn once, however often it is repeated': [
    'an erasure that counts a repeat',
  ],
  'a test of a session, a run and a result are stored while what they are made of is there, and not after it': [
    'a test of an erased session',
  ],
  'a session of a run is created while its run is there, and not after it': ['a session of a run that is gone'],
  'an erasure removes tests, runs and results, and counts each test once': [
    'an erasure that counts a test with each sending',
  ],
  'a record is removed at the version that is given, and at no other': ['a record removed at another version'],
  'an erasure is listed from its beginning to its end': ['an erasure that nobody continues'],
  'requests, places and limits that name an erased session or visitor are forgotten, and no others': [
    'an erasure that forgets no request',
    'an erasure that frees no place',
    'an erasure that frees every place of a holder',
  ],
  'a change of a record is stored with its row in the audit, and a step that changes nothing stores no row': [
    'a change of a record whose row in the audit is forgotten',
    'a row in the audit of a change that another writer hindered',
  ],
  'a session is created and ended with a row in the audit, and a step that does neither stores no row': [
    'a row in the audit of a trial that is not opened',
    'a row in the audit of a session that another writer has moved',
  ],
  'a turn begins with its row in the audit, and a turn that does not begin stores no row': [
    'a row in the audit of a turn that does not begin',
  ],
  'an aborted turn is sealed with its row in the audit once, and the row outlasts a withdrawal': [
    'a row in the audit with each sending of an end',
  ],
  'the first request to stop a turn is stored with its row in the audit, and further ones store no row': [
    'a row in the audit with each request to stop',
  ],
  'an erasure begins with its row in the audit, one that has begun stores no row, and rows outlast it': [
    'a row in the audit with each sending of an erasure',
  ],
  'rows of the audit outlast their workspace, its removal has a row, and no other place shows them': [
    'an audit that is removed with its workspace',
  ],
  'a row of the audit is found by its place, whichever step has stored it': [
    'rows of the audit whose places are forgotten',
  ],
  'sessions are listed by the visitor who holds them': ['a listing of all visitors'],
  'sessions past retention go with all they hold, and no others': [
    'a sweep that does not look again',
    'a sweep that takes too much',
  ],
  'the calls of a turn are read with its text, each replaced by its result, and end with the turn in its message': [
    'calls that any process may store',
    'calls whose last one is lost',
    'results that are not stored',
    'a result that a late step takes back',
  ],
  'what a provider put on a call, and why its arguments did not fit, stay with it: in flight, with its result, and in an earlier message':
    [
      'calls without what a provider put on them',
      'a result that takes off what a provider put on its call',
      'a call without the fields of its round',
      'a message without what a provider put on its calls',
      'an amended message without what a provider put on its calls',
      'a call that does not say why its arguments did not fit',
    ],
  'a step is answered with the request to stop its turn': ['a step that tells of no request to stop'],
  'an earlier message is amended by each kind of step, whichever row it is in': [
    'a message that a withdrawal leaves amended',
    'a message that a step does not amend',
    'an amended result that a late step takes back',
  ],
  'a stop is kept with the turn and told to its owner, who still owns it': ['a stop that is not kept'],
  'who asks a turn to stop leaves its owner only so long, and whoever seizes it then is told of it': [
    'a stop that cuts no lease',
    'a stop that prolongs a lease',
  ],
  'a session is moved with the limits that it takes, or neither is': [
    'a charge on any move',
    'half a charge: the session moves where a limit refuses',
    'half a charge: no limit is taken',
    'a charge of a session that has moved',
    'half a charge: limits are taken for a session that has moved',
  ],
  'limits are taken all or none, and a refusal costs nothing': ['limits taken one by one'],
  'a place is held until its lease ends, and who has one needs no other': ['a place for each who asks'],
  'a counter refuses once it has reached its ceiling, a bucket where it holds less than is asked': [
    'a counter that is never counted',
  ],
  'a quota refuses a cost that does not fit under its ceiling, and charges nothing': [
    'a quota that its last cost may exceed',
  ],
  'a turn reserves a quota with its begin, and its end and its withdrawal settle it once': [
    'a turn that begins beyond a quota',
    'a settlement that is left out',
  ],
  'of many who want one slug at once one has it': ['a slug claimed by all who want it'],
  'a slug is free once its assistant has another or none, or is removed, alone or with its workspace': [
    'a slug that is kept',
  ],
  'sessions are filtered by assistant, by status and by last activity': ['a listing without the filter of status'],
  'sessions are listed newest first, in pages, past a cursor that never was': ['sessions in the wrong order'],
  'a turn that is cut has the text up to the cut and no more, wherever it is read': [
    'a turn that is never cut',
    'a turn cut at UTF-16 units',
    'a turn whose tail alone is cut',
    'a message that is cut, and an output that is not',
    'a message that is cut, and text that is read on beyond the cut',
    'an output that is cut, and a message that is not',
    'a cut counted in bytes',
    'a cut within a code point',
    'a cut text that counts as long as it was',
  ],
  'a cut that is refused cuts nothing: a lost one, a fenced one, and one beyond the text': [
    'a turn cut before its end is stored',
    'a cut beyond the text taken for its end',
  ],
  'nobody sees a turn that is over with text that its cut took': ['a turn cut in a step of its own, after its end'],
  'what a cut took never comes back: not by a step sent again, nor by the next turn, a takeover or a withdrawal': [
    'a turn whose end, sent again, cuts it again',
  ],
  'of a turn that is released, readers see that much of the stored text, and all of it once it is over': [
    'a release that any process may make',
    'text shown before its release',
    'a release that takes text back',
  ],
  'a hidden turn is in no transcript until something of it is released': ['a hidden turn that is shown'],
  'a turn that began without a gate has none': ['a turn without a gate that a release gates'],
  'a name belongs to one credential of its workspace and to no alias, and is free once it has another or is removed': [
    'a name of a credential that a second one gets',
  ],
  'a transcript is read in pages, either way': ['a transcript in the wrong order'],
  'a piece that would leave a hole is refused': ['positions counted in UTF-16 units'],
  'what was acknowledged is what is read next': ['a stale read'],
  'usage counts sessions, turns, failed turns and tokens, each once and in its second': [
    'usage that forgets failed turns',
    'a usage window with its end included',
  ],
};

/** The case that must reject a broken store; null where none is named. */
const judgeOf = (broken: string): string | null =>
  Object.keys(rejects).find((name) => rejects[name]!.includes(broken)) ?? null;

/**
 * Runs the case that must reject the store, and `sound` on why it did; all others only where it does not, to say which
 * of them do.
 */
export async function rejected(
  t: Test,
  broken: string,
  factory: Factory,
  sound: (error: Error) => boolean,
  chosen: (each: Case) => boolean = () => true,
): Promise<void> {
  const judge = judgeOf(broken);
  const [failure] = await verdict(factory, (each) => each.name === judge && chosen(each));
  if (failure !== undefined)
    return void t.ok(
      sound(failure.error),
      `for what it does, and not for a fault of its own: ${failure.error.message}`,
    );
  const others = await verdict(factory, chosen);
  t.fail(
    `${judge === null ? 'no case is named' : `"${judge}" lets it pass`}; it is rejected by: ${others.map(({ name }) => name).join('; ') || 'none'}`,
  );
}

/** Returns the cases that the table names and that do not exist. */
export const unknownCases = (): string[] =>
  Object.keys(rejects).filter((name) => !cases.some((each) => each.name === name));
