/** Every experiment, in the order of the promises. */
import type { Experiment } from './experiment.ts';
import { rolloutsSurvive } from './a1-rollouts.ts';
import { survivesItsProcess } from './a3-runs.ts';
import { heardIsStored } from './c1-heard.ts';
import { killedWhileSpeaking } from './c2-killed.ts';
import { frozen } from './c3-frozen.ts';
import { halfDuplex, ownWordsAlike, ownWordsHeard } from './c4-echo.ts';
import { endsInTime } from './c5-expiry.ts';
import { oneWriter, oneWriterUnheard } from './p1-owners.ts';
import { seenIsStored } from './p2-kill.ts';
import { providerBreaks } from './p2-provider.ts';
import { fullDisk } from './p3-disk.ts';
import { answeredIsStored, refusedInCluster, refusedIsNothing, settingsRefuse } from './p3-replies.ts';
import { survivesRedis, survivesServer } from './p3-server.ts';
import { failsOver } from './p4-failover.ts';
import { sealedInTime } from './p5-seal.ts';
import { neverAboveTheCeiling } from './p6-slots.ts';
import { exactLimits } from './p7-budgets.ts';
import { appliesOnce } from './p9-replies.ts';
import { deadlinesHold } from './p10-deadlines.ts';
import { deadlinesAgree } from './p10-skew.ts';
import { awayAndBack, awayDemoted, awayUnheard } from './p11-away.ts';
import { drained } from './p12-restarts.ts';
import { revoked } from './p17-revocation.ts';
import { oneOwner } from './p24-folder.ts';
import { movesSlots } from './p25-moving-slots.ts';
import { tenTurnsWork } from './r4-ten-turns.ts';
import { callsAreStored, callsOnce } from './t1-once.ts';
import { nextTurnWorks } from './t3-next-turn.ts';
import { nothingLeaks } from './t4-leak.ts';
import { takenCalls } from './d-calls.ts';
import { deskExperiments } from './d-desk.ts';
import { everyFinal, everyFinalDespiteKills } from './v1-finals.ts';
import { oneSocketForEachToken } from './v3-tokens.ts';
import { eventForEachEnd } from './w1-events.ts';

export const experiments: readonly Experiment[] = [
  oneWriter,
  oneWriterUnheard,
  seenIsStored,
  providerBreaks,
  survivesServer,
  survivesRedis,
  answeredIsStored,
  refusedIsNothing,
  settingsRefuse,
  refusedInCluster,
  fullDisk,
  ...failsOver,
  sealedInTime,
  neverAboveTheCeiling,
  exactLimits,
  appliesOnce,
  deadlinesHold,
  deadlinesAgree,
  awayAndBack,
  awayUnheard,
  awayDemoted,
  drained,
  revoked,
  ...oneOwner,
  ...movesSlots,
  callsOnce,
  callsAreStored,
  nextTurnWorks,
  tenTurnsWork,
  nothingLeaks,
  everyFinal,
  everyFinalDespiteKills,
  oneSocketForEachToken,
  heardIsStored,
  killedWhileSpeaking,
  ...frozen,
  ownWordsAlike,
  ownWordsHeard,
  ...halfDuplex,
  endsInTime,
  eventForEachEnd,
  takenCalls(),
  ...deskExperiments(),
  rolloutsSurvive,
  survivesItsProcess,
];
