/** Every bound of the system, unit last. A rule's source stands beside it (contract: docs/contract.md). */
export const limits = {
  // Requests
  bodyBytesMax: 256 * 1024, // contract 2
  frontBodyBytesMax: 1024 * 1024, // contract 14 and 15
  frontMessagesMax: 2000, // of a request to /v1/chat/completions
  realtimePartsMax: 100, // of an item that a client of /v1/realtime creates
  conversationNameCharactersMax: 128, // contract 14
  responseNameCharactersMax: 512, // of `user` and the like, which a response repeats
  frontToolsMax: 128, // that such a request may bring
  bodyMsMax: 30_000,
  bodyPauseMs: 4_000, // of waiting for more of it, less than half of what uWebSockets.js itself allows
  bodyLingerMs: 2_000,
  fieldCharactersShown: 128, // of a client's own name for a field, in a message
  headerBytesMax: 16 * 1024,
  headersCountMax: 100,
  connectionIdleMs: 65_000,
  pipelinedMax: 256, // requests that wait on one connection for the answer to one before them: some kilobytes each
  // of the bodies that are parsed in one turn of the event loop; a larger one is parsed alone
  parsedBytesPerTurn: 256 * 1024,
  requestsAtOnce: 500, // of all connections in one turn of the event loop, that are answered as they are parsed
  socketSilentMs: 60_000, // contract 8: of a peer that answers no ping
  idempotencyKeyCharactersMax: 255, // contract 6
  idempotencyMsMax: 24 * 60 * 60 * 1000, // contract 6
  listDefault: 20, // contract 1
  listMax: 100, // contract 1
  sessionsCountedMax: 1000, // of a list of the console, for its total
  openingCharactersMax: 120, // of a session's first message, beside it in a list

  // Conversations
  messageCharactersMax: 8000, // contract 5
  speechCharactersMax: 1000, // contract 5
  metadataPairsMax: 16, // contract 6
  metadataKeyCharactersMax: 64, // contract 6
  metadataValueCharactersMax: 512, // contract 6
  visitorFieldsMax: 20,
  visitorValueCharactersMax: 1000,
  usageDaysMax: 90, // contract 5
  usageDaysDefault: 30, // contract 6
  retentionDaysDefault: 30, // contract 6
  retentionDaysMax: 3650,
  maxCallSecondsDefault: 3600,
  maxCallSecondsMax: 7 * 24 * 3600,

  // Budgets, per key and minute (contract 5)
  requestsPerMinute: 60,
  speechPerMinute: 30,
  transcriptionTokensPerMinute: 10,
  ceilingMax: 1_000_000,
  keyOverlapSecondsMax: 30 * 24 * 3600, // contract 9
  failedAuthenticationsPerMinute: 600, // contract 4, per address
  linkReadsPerMinute: 600, // contract 9, per address
  throttledAddressesMax: 10_000, // addresses that are remembered
  failedSignInsPerMinute: 10, // contract 9, per address
  failedSignInsPerMinuteOfAll: 100, // contract 9

  // Turns
  turnsInFlightMax: 10, // contract 5, per workspace
  trialsOpenMax: 4, // contract 9, per workspace
  turnsInFlightCeiling: 100_000,
  turnMsMax: 5 * 60 * 1000, // contract 6
  /**
   * Tools (contract 13): the calls of a round, and the calls of a model that are read at all; arguments and results.
   */
  toolCallsMax: 8,
  toolCallsTaken: 64,
  toolRoundsMax: 8,
  toolArgumentsBytesMax: 32 * 1024,
  toolOpaqueCharactersMax: 64 * 1024, // of what a provider put on a call and its round, as JSON
  toolOpaquesCharactersMax: 512 * 1024, // the same in a turn
  toolArgumentsKept: 1024, // characters, of a call above `toolCallsMax`
  toolSchemaErrorCharactersMax: 400, // of the sentence for a model whose arguments do not match the schema
  toolCheckStepsMax: 50_000, // of arguments against their schema, all in one turn of the event loop
  toolOutputCharactersMax: 16_000,
  toolOutputsCharactersMax: 64_000,
  toolTimeoutSeconds: 20,
  toolTimeoutSecondsMax: 120,
  toolAnswerBytesMax: 1024 * 1024,
  toolRefusalCharactersMax: 2000, // of an MCP server's text about its error, for the model
  toolListPagesMax: 256,
  toolListBytesMax: 4 * 1024 * 1024, // of all pages
  toolEraMs: 10 * 60_000,
  toolProbeMs: 5_000, // of silence after `server/discover`, or after `notifications/initialized`
  toolSessionIdleMs: 5 * 60_000, // of a session with an MCP server without a call
  toolSessionsEndMs: 2_000, // for the servers to hear of the end of their sessions
  toolSchemaBytesMax: 16 * 1024,
  toolMcpSchemaBytesMax: 64 * 1024,
  answerSchemaBytesMax: 64 * 1024, // of a `response_format`
  toolsOfAssistantMax: 16,
  toolFunctionsMax: 64,
  toolRoundsCeiling: 25,
  toolSecretOverlapMs: 24 * 60 * 60 * 1000,
  toolSecretsReplacedMax: 9, // that sign beside a tool's own: ten signatures are 480 bytes of a head
  toolsKeptMax: 10_000,
  webhooksMax: 5, // of a workspace, contract 17
  /** Code points of a result that the model of a later turn is sent. */
  toolEarlierCharactersMax: 2000,
  outputCharactersMax: 200_000,
  answerBytesMax: 240 * 1024, // of a list's items; an answer that is no stream waits whole for a slow reader
  flowingCharacters: 16 * 1024, // code points of a long answer that are made at a time, six bytes each at most
  flowingBuckets: 300, // of usage, 220 bytes each at most
  pacedPiecesPerSecond: 5_000, // of all turns in the process; above it pieces are handed over at a beat
  paceMs: 20, // between two beats, and up to a tick of the clock's wheel more
  crowdedPiecesPerSecond: 20_000, // above it a beat takes longer, and providers are read at it
  crowdedPaceMs: 40, // between two beats of one group of the turns
  paceLeastMs: 5, // between them while the event loop has little to do
  paceRestShare: 0.5, // of the time: up to it the loop has little to do
  paceFullShare: 0.8, // of the time: from it on nothing is worth more than less work
  heartbeatMs: 15_000, // contract 7
  slowReaderBytesMax: 256 * 1024,
  deltaCharactersMax: 16 * 1024,
  historyTokensMax: 8_000, // contract 7, unless an assistant says otherwise
  historyTokensCeiling: 1_000_000,
  historyMessagesMax: 100, // with as many tokens as by default, and as many times more with more
  historiesCharactersMax: 16 * 1024 * 1024, // of all sessions in use, held ready
  outputTokensDefault: 4_096,
  outputTokensReserved: 1_000, // contract 19, of a key's token budget, where the assistant sets no maximum

  // Model providers
  providerConnectMs: 10_000,
  providerSilenceMs: 60_000, // without a byte, unless a setting says otherwise
  providerGraceMs: 3_000, // from the finish of an answer to its end: for its usage, and for its connection to be kept
  providerGetMs: 10_000, // for the head of an answer that is only looked up
  providerProbeHttp2Ms: 5_000, // for the beginning of a connection in HTTP/2
  providerErrorBytesMax: 64 * 1024,
  providerRefusalCharactersMax: 16 * 1024, // of an error's body, which are looked through for the reason
  providerAttemptsMax: 12, // requests of one turn
  providerAttemptsMs: 60_000, // from the first to the beginning of the last
  modelsLearntMax: 1000,
  modelLearntMs: 60 * 60 * 1000,
  modelFunctionsRefusedMax: 128, // definitions of functions that a model is known to refuse
  providerEventCharactersMax: 4 * 1024 * 1024, // one event, or a whole answer that is not streamed
  providerSpaceCharactersMax: 65_536, // of white space before an answer, while it may yet begin with reasoning
  providerAddressMs: 1_000, // before the next of a name's addresses is tried
  providerInterimMax: 10, // answers 1xx before the answer
  providerProxyHeadBytesMax: 8 * 1024, // of a proxy's answer to CONNECT
  providerChunkExtensionBytesMax: 1024, // of one chunk
  providerReadBytes: 64 * 1024,
  providerProbeMs: 60_000, // of silence, before TCP asks whether the other side is still there
  providerKeptMsMax: 30_000, // half of what load balancers usually let a quiet connection live
  providerKeptMax: 256, // connections without a request, per origin
  providerKeptTotalMax: 1024,
  providerRepeatMsMax: 1_000, // from sending on a kept connection to its loss, for the request to be sent once more
  providerOriginsMax: 1000, // base URLs, and TLS sessions, that are remembered

  // Voice
  voiceProcessesMax: 64,
  voiceOrdersMax: 10_000, // that wait for a voice process
  voiceOrdersOfCallerMax: 1_000, // of them
  voiceTriesMax: 3, // of an order whose process has ended each time
  voiceOrderMs: 20_000, // before a voice process counts as hung
  // the same, for an order that first loads a model: it takes two seconds, and thirty on a machine that is overloaded
  voiceLoadMs: 120_000,
  voicePieceMs: 20_000, // of sound, as estimated: a sentence that would last longer is cut
  voiceRestartMs: 250, // before the third voice process in a row is started that ended as it began; doubled each time
  voiceRestartMsMax: 5_000,
  voiceShareMs: 1_000, // over which the load is measured
  voiceFirstBytesMs: 10_000, // contract 8: of a provider's silence
  voiceSentenceMsMax: 5 * 60_000, // of a provider's audio for one sentence
  voiceTranscriptMs: 60_000, // from a provider's first byte of a transcript to its last
  wavRateMin: 8_000, // hertz
  wavRateMax: 192_000,
  wavChannelsMax: 32,
  wavHeaderBytesMax: 1024 * 1024, // before the data
  speechWholeBytesMax: 64 * 1024 * 1024, // of samples of a text whose audio is sent whole
  sentenceCharactersMax: 200, // contract 8: a longer piece counts as several
  speechAheadBytesMax: 512 * 1024, // of a provider's audio that its reader has not taken
  speechPieceMs: 100, // of audio encoded in one turn of the event loop
  transcriptionTokenMs: 60_000, // contract 8
  socketAudioMsMax: 10_000, // contract 8: the burst of the pace, which is one second a second
  socketBacklogMs: 30_000, // of audio that no detector takes
  socketFinalsOwedMax: 100,
  socketQueuedMax: 4_096, // messages that wait for their decoder to be loaded: ten seconds of the shortest packets
  // of a client's message: one of 8,000 characters whose JSON escapes each code unit
  socketTextCharactersMax: 128 * 1024,
  socketWaitingBytesMax: 256 * 1024, // contract 8: for a slow reader
  socketPartialBytesMax: 64 * 1024, // for one that still gets partials
  callStepMs: 20, // between looks whether the listener has room for more audio
  callLookMs: 100, // between looks how far the listener is by the estimate
  callPlayedMs: 500, // contract 18: the seal of a reply that was cut waits so long for what the client has played
  callAnswerMs: 100, // after a report the seal waits so long for a newer one
  // contract 18: readers of a reply to an OpenAI Realtime client are so far behind its listener
  realtimeReadersBehindMs: 1_500,
  callEndMs: 120, // a call's end waits so long for the seal of its turn
  callOpenMs: 60_000, // a session says so long that a call is open
  callOpenEveryMs: 20_000, // and a call says it so often
  callSlotMs: 250, // between two requests for a slot of the workspace
  socketPollMs: 100, // between looks at the deadline and the session
  socketUsageMs: 60_000, // contract 8: between two counts of usage

  // The host
  actorIdleMs: 60_000,
  actorsLiveMax: 20_000,
  decisionAttemptsMax: 5,
  looksAfterMove: 3, // at a session that another process has moved, before a turn begins on it without a look
  unknownMs: 1_000, // for which a key or a slug that the store does not have is not looked up again
  unknownMax: 10_000, // such keys, and such slugs
  slugsKept: 20_000, // whose owner a process remembers
  credentialsKeptMax: 10_000, // that turns have used within `catalogFreshMs`
  sweepMs: 60_000,
  sweepAgainMs: 1000,
  timeGapMsMax: 10 * 60_000, // between two sweeps; a longer one is a standstill, or a clock that was set
  timeTrustMs: 60 * 60_000, // for which time must have moved evenly before a sweep deletes anything
  storeRetryMs: 100, // before a turn's step is sent again that the store did not answer; doubled each time
  storeRetryMsMax: 2_000,
  appendRetryMsMax: 500, // for a turn that is writing, whose lease runs
  withdrawalsMax: 10_000, // turns that wait for the store to be withdrawn, above which none begins
  withdrawalMs: 1_000, // how long a chat waits for the turn before it on its session to be withdrawn
  fateMs: 1_000, // how long a chat that has not begun waits for how another process has ended its turn
  // beyond a lease, how long readers of such a turn wait for its end before their streams are cut
  fateReadersMs: 10_000,
  faultTriesMax: 3, // tries of a turn's step that failed for a fault of our own, which time does not mend
  orphansMs: 500, // between looks for turns of dead processes
  // until the first look at a session whose end was not answered, while a turn runs in it; each later one waits twice
  // as long
  unsettledLookMs: 250,
  unsettledLookMsMax: 5_000,
  sweepSessionsMax: 1000,

  // The log
  tracesFlushMs: 2_000, // contract 16: for the last spans, at the end of a process
  tracesQueueMax: 2048, // spans that wait for their collector: OpenTelemetry's own default
  logWriteBytesMax: 32_768, // in one write: each wakes a thread, which costs as much as an answer
  logHeldMs: 30, // that a line waits for others, and a tick of the clock's wheel

  // The public link
  linkHoldMs: 60_000, // contract 9: how long a visitor's clock runs on after a turn
  linkSocketMs: 5_000, // between two charges of a visitor's open voice socket
  linkSocketAheadMs: 15_000, // for which it is charged at once: the excess charge if its process dies
  linkSilenceMs: 60_000, // contract 9: of a visitor's voice socket, until it gives its place back
  visitorTokenMs: 30 * 24 * 60 * 60 * 1000, // contract 9

  // The console
  nameCharactersMax: 200,
  descriptionCharactersMax: 2000,
  feedbackCharactersMax: 1000,
  /** Failures in a row after which a model is passed over, for how long, and the models that this is known of. */
  modelFailuresMax: 5,
  modelPassedOverMs: 30_000,
  modelsFailingMax: 1000,
  modelFallbacksMax: 2,
  greetingCharactersMax: 8000,
  systemPromptCharactersMax: 100_000,
  keyAssistantsMax: 1000,
  linkOriginsMax: 100,
  originCharactersMax: 300,
  secretCharactersMax: 4096,
  secretCharactersMin: 32, // contract 11
  operatorTokenCharactersMin: 24,
  // that wait for a slow watcher: less than `slowReaderBytesMax`, at which the engine cuts the socket
  inspectBytesMax: 128 * 1024,
  signInIdleSeconds: 12 * 3600, // contract 9
  signInSecondsMax: 7 * 24 * 3600, // contract 9
  signInSeenSeconds: 60, // how old the stored time of the last use may be
  signInsMax: 1000, // of an installation; the next one ends the least recently used one
  auditDays: 400, // contract 22
  auditSweepMs: 3600_000, // between two removals of old rows of the audit
  auditPlacesAtOnce: 20, // of the audit's places, read at once
  peopleMax: 2000, // of an installation; the next one removes the person of a link who was seen longest ago
  signInLinkSeconds: 600, // contract 9
  signInLinkSweepSeconds: 60, // between two removals of expired links
  signInTokenCharactersMax: 4096,
  agentCharactersMax: 300,
  oidcSignInSeconds: 600, // contract 22
  oidcSignInsBegunMax: 8, // in one browser, each with a cookie of at most a kilobyte
  oidcPathCharactersMax: 256, // of the page that a sign-in leads back to
  oidcFinishesMax: 32, // sign-ins at a time that wait for the issuer
  oidcAnswerBytesMax: 512 * 1024, // of one answer of the issuer
  oidcMs: 10_000, // for all answers of the issuer to one request of a browser
  oidcDiscoveryMs: 10 * 60_000, // for which sign-ins are finished by the issuer's description of itself
  inspectRulesMax: 100, // of one watcher, by which it has changed its selection
  feedAskMs: 2_000, // how often a process with watchers says so to the others
  feedWantedMs: 5_000, // how long that counts
  feedHeldMs: 250, // by which a process that is not held up comes too late for that
  feedPictureMs: 250, // of other processes' time to say which actors are awake
  pictureMsFree: 50, // of the event loop, for one picture of the live actors; after a longer one
  pictureRestTimes: 4, // as many times as long passes before the next
  feedActorsMax: 500, // in one message between processes
  historyKept: 1000, // steps of an actor that its history shows
  historyCheckpointSteps: 200, // a fold of the history takes no more steps than these to any step
  turnEventsKept: 64, // of a turn, in its session's history
  refusalsKept: 64, // of a live actor, equal ones in a row counted as one
  socketMessageBytesMax: 1024 * 1024, // contract 8
  socketTextsMax: 100, // contract 8: text messages and pings at once
  socketTextsPerSecond: 20, // contract 8: of them from then on

  // The command line
  commandAnswerMs: 30_000, // how long the console's API may take to answer
  commandKeySeconds: 24 * 3600,

  // The store
  scanRowsMax: 256, // rows read before other work gets a turn
  cacheShareKept: 7 / 8, // of a cache that every turn fills, whenever it is full
  placeNamesKeptMax: 1_000, // names of places whose holders are mirrored in memory
  recordsKeptMax: 8192, // rows kept as they were written, so that a later step need not unpack them
  recordKeptBytesMax: 4096, // of such a row; a visitor's fields may be a whole body
  outputRowCharactersMax: 4096, // output of a turn in flight that is kept in one row
  journalRowsMax: 8192, // rows that wait in a journal before the database takes them
  journalBytesMax: 8 * 1024 * 1024,
  journalChunkRows: 512, // rows that the database takes in one transaction: about a millisecond of the event loop
  removalRowsMax: 1000, // rows of a removed workspace deleted in one step

  // Export and import
  movingRowsMax: 256, // rows taken in at one go
  movingBytesMax: 4 * 1024 * 1024, // of rows read or taken in at one go, about
  movingPickedMax: 20_000, // rows put in order at a time
  movingSessionsMax: 16, // sessions asked for at a time, and messages of each
  movingLineBytesMax: 16 * 1024 * 1024, // of one row in a file
  movingShownMs: 200, // between looks at the progress in a terminal
  movingToldMs: 5_000, // between its lines elsewhere

  // Redis
  redisCallMs: 1_900, // a client gets 503 within two seconds
  redisAskMs: 900, // for a primary to describe itself
  redisPolicyMs: 100, // for a look to wait for that: less than a probe waits
  redisCallsMax: 10_000, // calls that wait for an answer at a time; several that are sent as one count each
  redisGatheredMax: 64, // calls of a step that are sent as one: Redis serves nobody else meanwhile
  // characters and bytes of several calls sent as one; a longer call is sent by itself
  redisGatheredCharactersMax: 65_536,
  redisStepKeptMs: 60_000, // for which a step's answer is kept, for retries; its sender retries for seconds
  redisConnectMs: 1_000,
  redisPingMs: 1_000,
  redisSilenceMs: 3_000, // without a byte: the connection is closed
  redisReconnectMsMax: 500,
  redisTopologyMs: 200, // a node away for so long: the cluster is asked who has its slots
  redisReplicaMs: 1_000, // for a replica to confirm
  redisTimeMs: 4_000, // between looks at the clock of Redis
  redisDebtMs: 100, // before Redis gets the requests that were refused without it
  redisDebtLateMs: 1_000, // by then Redis has it, however busy the process is
  redisDebtsMax: 10_000, // budgets in debt that a process remembers
  redisRegistryMax: 10_000, // workspaces that a process remembers to have entered for the sweep

  // Many processes on one store
  leaseMs: 5_000, // of a turn's owner; renewed after a third of it
  // for an owner to stop a turn that is aborted or whose session has expired, before another process seals it
  stopMs: 1_000,
  remoteStopMs: 5_500, // how long a request waits beyond that for another process, if it lives, to stop a turn
  remotePollMs: 50, // between looks at a turn that another process runs, while it has more each time
  // by when the owner of a turn knows whether its end is stored, or has withdrawn it: longer than a step may take
  remoteBegunMs: 2_500,
  remoteSealMs: 1_500, // beyond its lease, by when a turn that its owner has given up is sealed
  remoteSilentMs: 500, // the same while it has nothing: a notice comes when it has
  // the age up to which records that the console changes are used without a read; a second at most, with the read
  catalogFreshMs: 800,

  // Looks that need no key
  readyAnswerMs: 1_900, // a probe gets 503 within two seconds, however slow the disk
  readySharedMs: 200, // for Redis, within a quarter of a second
  readyWorkersMs: 240, // for several processes, each with its own time
  readyKeptMs: 250, // unless the store refuses a step
  readyWorkersKeptMs: 40, // what a supervisor keeps beyond its workers
  loadStepSeconds: 5, // contract 9
  loadSteps: 720, // an hour
  scrapeKeptMs: 250,
  scrapesFreshMax: 10, // scrapes in a row that are fresh all the same

  // The doctor
  doctorRoundTrips: 5,
  doctorClockMs: 1_000, // how far a clock may be off
  doctorMemoryShare: 0.8, // of Redis's maxmemory
  doctorReplicaLagSeconds: 10,
  doctorRowsMax: 1_000, // workspaces, or credentials of one, that are looked at
  doctorDiskBytesLow: 1024 * 1024 * 1024,
  doctorDiskBytesMin: 64 * 1024 * 1024,
  doctorPortMs: 2_000, // for the process on the port to answer
  doctorUrlMs: 10_000, // for an answer through the proxy
  doctorWalkMs: 30_000, // for the rows of a data folder, one after the other

  // Many processes on one machine
  processesMax: 64,
  portAttemptsMax: 3, // ports tried where any free one will do
  workerRestartMs: 100, // before a worker that died is replaced; doubled each time it dies again
  workerRestartMsMax: 10_000,
  workerWellMs: 30_000, // a worker that ran so long did not die of its start
  workerRetireMs: 2_000, // for clients of a worker that leaves to send the request that closes their connection
  workerMeasureMs: 1_000, // for a worker to report its metrics
  workerEndMs: 60_000, // for a worker to drain and end once it is requested to; then it is killed

  // Ending
  drainMs: 30_000, // contract 11
} as const;

/**
 * The limits of an assistant's public link and widget by the names that clients give, with their defaults (contract 9).
 */
export const linkLimits = {
  minutes_per_day: 600,
  concurrent_visitors: 25,
  messages_per_visitor_per_day: 100,
  messages_per_address_per_hour: 120,
} as const;
/** The limits of one address. The default of each is half of a limit of the link, and `least` at least (contract 9). */
export const linkAddressLimits = {
  places_per_address: { of: 'concurrent_visitors', least: 5 },
  minutes_per_address: { of: 'minutes_per_day', least: 30 },
} as const;
export type LinkLimitName = keyof typeof linkLimits | keyof typeof linkAddressLimits;
/** The default of a limit in words. */
export function linkLimitDefault(name: LinkLimitName): string {
  if (!(name in linkAddressLimits)) return String(linkLimits[name as keyof typeof linkLimits]);
  const { of, least } = linkAddressLimits[name as keyof typeof linkAddressLimits];
  return `half of \`${of}\`, ${least} at least`;
}
export const linkLimitNames = [
  ...Object.keys(linkLimits),
  ...Object.keys(linkAddressLimits),
] as readonly LinkLimitName[];

/** Milliseconds before a step is sent again that the store did not answer: twice as long each time. */
export const retryMs = (tries: number): number => Math.min(limits.storeRetryMs * 2 ** tries, limits.storeRetryMsMax);
