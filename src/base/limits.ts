/**
 * Bounds that a client or an operator can see, and bounds that several files read; unit last. A number that only one
 * file reads is a constant of that file. The source of a rule stands next to its bound (contract: docs/contract.md).
 */
export const limits = {
  // Requests
  bodyBytesMax: 256 * 1024, // contract 2
  frontBodyBytesMax: 1024 * 1024, // contract 14 and 15
  frontMessagesMax: 2000, // messages of a request to /v1/chat/completions
  realtimePartsMax: 100, // parts of an item that a client of /v1/realtime creates
  conversationNameCharactersMax: 128, // contract 14
  responseNameCharactersMax: 512, // characters of `user` and the like, which a response repeats
  frontToolsMax: 128, // tools of a request to /v1/chat/completions
  bodyMsMax: 30_000,
  headerBytesMax: 16 * 1024,
  headersCountMax: 100,
  connectionIdleMs: 65_000,
  pipelinedMax: 256, // requests on one connection that wait for an earlier answer: some kilobytes each
  // bytes of the bodies that are parsed in one iteration of the event loop; a larger body is parsed alone
  parsedBytesPerTurn: 256 * 1024,
  socketSilentMs: 60_000, // contract 8: silence of a peer that answers no ping
  idempotencyKeyCharactersMax: 255, // contract 6
  idempotencyMsMax: 24 * 60 * 60 * 1000, // contract 6
  listDefault: 20, // contract 1
  listMax: 100, // contract 1
  sessionsCountedMax: 1000, // sessions that a list of the console counts for its total
  openingCharactersMax: 120, // characters of a session's first message in a list

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
  failedSignInsPerMinute: 10, // contract 9, per address
  failedSignInsPerMinuteOfAll: 100, // contract 9

  // Turns
  turnsInFlightMax: 10, // contract 5, per workspace
  trialsOpenMax: 4, // contract 9, per workspace
  turnsInFlightCeiling: 100_000,
  turnMsMax: 5 * 60 * 1000, // contract 6

  // Streams of sessions (contract 23), in each process
  sessionStreamsMax: 5, // of one session
  streamsOfSessionsMax: 1000,
  sessionStreamRetrySeconds: 5, // time after which a refused reader may try again

  // The desk (contract 23)
  deskWaitSecondsMin: 10,
  deskWaitSecondsMax: 3600,
  deskTextCharactersMax: 500,
  deskReasonCharactersMax: 500,
  deskPresenceMs: 60_000, // time for which a person counts as present after a request

  // Tools (contract 13)
  toolCallsMax: 8, // tool calls of a round that are sent
  toolCallsTaken: 64, // tool calls of a round that are read
  toolRoundsMax: 8,
  toolArgumentsBytesMax: 32 * 1024,
  toolOpaqueCharactersMax: 64 * 1024, // characters of the fields that a provider put on a call and its round, as JSON
  toolOpaquesCharactersMax: 512 * 1024, // characters of all such fields of a turn
  toolOutputCharactersMax: 16_000,
  toolOutputsCharactersMax: 64_000,
  toolTimeoutSeconds: 20,
  toolTimeoutSecondsMax: 120,
  toolAnswerBytesMax: 1024 * 1024,
  toolRefusalCharactersMax: 2000, // characters of an MCP server's error text, for the model
  toolListPagesMax: 256,
  toolListBytesMax: 4 * 1024 * 1024, // bytes of all pages
  toolSchemaBytesMax: 16 * 1024,
  toolMcpSchemaBytesMax: 64 * 1024,
  answerSchemaBytesMax: 64 * 1024, // bytes of a `response_format`
  toolsOfAssistantMax: 16,
  toolFunctionsMax: 64,
  toolRoundsCeiling: 25,
  secretOverlapMs: 24 * 60 * 60 * 1000,
  secretsReplacedMax: 9, // replaced secrets that still sign: ten signatures are 480 bytes of a head
  webhooksMax: 5, // of a workspace, contract 17
  webhookDeliveriesMax: 100, // of a webhook, listed and kept
  testsMax: 200, // of an assistant, contract 21
  testStepsMax: 50, // contract 21
  testRepeatMax: 10, // contract 21
  testExpectationsMax: 20, // contract 21: items of a list in `expect`
  testTextCharactersMax: 1000, // contract 21: characters of a text in `expect`
  testResultsMax: 200, // scripted results of a function
  replaySessionsMax: 200, // contract 21
  testRunsWaitingMax: 10, // of an assistant, contract 21
  webhookAnswerMs: 15_000, // contract 17
  /** Code points of a result that the model of a later turn is sent. */
  toolEarlierCharactersMax: 2000,

  // Output
  outputCharactersMax: 200_000,
  answerBytesMax: 240 * 1024, // bytes of the items of a list; an answer that is no stream waits whole for a slow reader
  flowingCharacters: 16 * 1024, // code points of a long answer that are made at a time, six bytes each at most
  heartbeatMs: 15_000, // contract 7
  slowReaderBytesMax: 256 * 1024,
  deltaCharactersMax: 16 * 1024,
  historyTokensMax: 8_000, // contract 7: where an assistant sets no number
  historyTokensCeiling: 1_000_000,
  outputTokensDefault: 4_096,
  outputTokensReserved: 1_000, // contract 19, of a key's token budget, where the assistant sets no maximum

  // Providers
  providerSilenceMs: 60_000, // time without a byte, where a setting names no other
  providerGetMs: 10_000, // time until the head of an answer to a GET
  providerErrorBytesMax: 64 * 1024,
  providerRefusalCharactersMax: 16 * 1024, // characters of an error's body that are searched for the reason
  providerEventCharactersMax: 4 * 1024 * 1024, // characters of one event, or of a whole answer that is not streamed
  providerOriginsMax: 1000, // base URLs that are remembered, and TLS sessions

  // Voice
  voiceProcessesMax: 64,
  // time of an order that first loads a model: two seconds, and thirty on an overloaded machine
  voiceLoadMs: 120_000,
  voiceShareMs: 1_000, // period over which the load is measured
  voiceFirstBytesMs: 10_000, // contract 8: silence of a provider
  sentenceCharactersMax: 200, // contract 8: a longer piece counts as several
  speechPieceMs: 100, // audio that is encoded in one iteration of the event loop
  transcriptionTokenMs: 60_000, // contract 8
  socketAudioMsMax: 10_000, // contract 8: the burst of the pace, which is one second a second
  socketBacklogMs: 30_000, // audio that waits for a detector
  // characters of a client's message: one of 8,000 characters whose JSON escapes each code unit
  socketTextCharactersMax: 128 * 1024,
  socketWaitingBytesMax: 256 * 1024, // contract 8: bytes that wait for a slow reader
  socketPartialBytesMax: 64 * 1024, // bytes that wait for a reader who still gets partials
  // contract 18: time in which the seal of a cut reply waits for the client's report of what it has played
  callPlayedMs: 500,
  // contract 18: lead of the listener over readers of a reply to an OpenAI Realtime client
  realtimeReadersBehindMs: 1_500,
  socketPollMs: 100, // time between two checks of the deadline and the session
  socketUsageMs: 60_000, // contract 8: time between two counts of usage

  // Actors and sweeps
  actorIdleMs: 60_000,
  actorsLiveMax: 20_000,
  decisionAttemptsMax: 5,
  looksAfterMove: 3, // checks of a session that another process has moved, before a turn begins on it without a check
  unknownMs: 1_000, // time for which a key or a slug that the store does not have is not looked up again
  slugsKept: 20_000, // slugs whose owner a process remembers
  sweepMs: 60_000,
  overdueMs: 15_000, // time between two searches for sessions past their deadline, where a webhook waits for their end
  overdueMax: 1000, // of a workspace in one search
  sweepAgainMs: 1000,
  timeGapMsMax: 10 * 60_000, // time between two sweeps; a longer one is a standstill, or a clock that was set
  timeTrustMs: 60 * 60_000, // time that must have passed evenly before a sweep deletes anything
  withdrawalsMax: 10_000, // turns that wait for the store to be withdrawn, above which no turn begins
  withdrawalMs: 1_000, // time for which a chat waits for the withdrawal of the turn before it in its session
  orphansMs: 500, // time between two searches for turns of dead processes
  sweepSessionsMax: 1000,

  // Traces
  tracesFlushMs: 2_000, // contract 16: time for the last spans, at the end of a process
  tracesQueueMax: 2048, // spans that wait for their collector: OpenTelemetry's default

  // The public link
  linkHoldMs: 60_000, // contract 9: time for which a visitor's clock continues after a turn
  linkSocketMs: 5_000, // time between two charges of a visitor's open voice socket
  linkSocketAheadMs: 15_000, // time that is charged in advance: the excess charge if the process dies
  linkSilenceMs: 60_000, // contract 9: silence of a visitor's voice socket until its place is free
  identityMsMax: 24 * 60 * 60 * 1000, // of a site's token ahead of its end (contract 23)
  identityLeewayMs: 60_000,
  identityCharactersMax: 4096, // a visitor's token holds its fields, and is sent in a head
  identitySubjectMax: 128,
  visitorTokenMs: 30 * 24 * 60 * 60 * 1000, // contract 9

  // The console
  nameCharactersMax: 200,
  personNameCharactersMax: 80, // in one line: visitors of the desk see it
  descriptionCharactersMax: 2000,
  feedbackCharactersMax: 1000,
  versionNoteCharactersMax: 500,
  versionNumberMax: 999_999_999,
  /** Versions of an assistant that are kept besides those in use. */
  versionsKept: 200, // contract 20
  modelFallbacksMax: 2,
  greetingCharactersMax: 8000,
  systemPromptCharactersMax: 100_000,
  keyAssistantsMax: 1000,
  linkOriginsMax: 100,
  secretCharactersMax: 4096,
  secretCharactersMin: 32, // contract 11
  operatorTokenCharactersMin: 24,
  signInIdleSeconds: 12 * 3600, // contract 9
  signInSecondsMax: 7 * 24 * 3600, // contract 9
  signInsMax: 1000, // sign-ins of an installation; the next one ends the least recently used one
  auditDays: 400, // contract 22
  peopleMax: 2000, // people of an installation; the next one removes the person of a link who was seen longest ago
  signInLinkSeconds: 600, // contract 9
  signInTokenCharactersMax: 4096,
  agentCharactersMax: 300,
  oidcSignInSeconds: 600, // contract 22
  inspectRulesMax: 100, // changes of its selection by one watcher
  historyKept: 1000, // steps of an actor that its history shows
  historyCheckpointSteps: 200, // steps that a fold of the history takes at most
  turnEventsKept: 64, // events of a turn in its session's history
  refusalsKept: 64, // refusals of a live actor, equal ones in a row counted as one
  socketMessageBytesMax: 1024 * 1024, // contract 8
  socketTextsMax: 100, // contract 8: text messages and pings at once
  socketTextsPerSecond: 20, // contract 8: further messages a second

  // The command line
  commandAnswerMs: 30_000, // time for an answer of the console's API

  // The store
  scanRowsMax: 256, // rows that are read before other work gets an iteration
  cacheShareKept: 7 / 8, // share that a full cache keeps, where every turn fills it
  journalRowsMax: 8192, // rows that wait in a journal before the database takes them
  journalBytesMax: 8 * 1024 * 1024,
  journalChunkRows: 512, // rows that the database takes in one transaction: about a millisecond of the event loop
  removalRowsMax: 1000, // rows of a removed workspace that one step deletes

  // Export and import
  movingRowsMax: 256, // rows that are imported in one step
  movingBytesMax: 4 * 1024 * 1024, // bytes of the rows that are read or imported in one step, about

  // Redis
  redisCallMs: 1_900, // a client gets 503 within two seconds
  redisCallsMax: 10_000, // calls at a time that wait for an answer; a batch counts as its calls
  redisGatheredMax: 64, // calls of a step that are sent as one: Redis serves nobody else meanwhile
  redisStepKeptMs: 60_000, // time for which a step's answer is kept, for retries; its sender retries for seconds
  redisConnectMs: 1_000,
  redisPingMs: 1_000,
  redisSilenceMs: 3_000, // time without a byte after which the connection is closed
  redisReconnectMsMax: 500,

  // Many processes on one store
  leaseMs: 5_000, // lease of a turn's owner, renewed after a third of it
  // time for an owner to stop a turn that is aborted or whose session has expired, before another process seals it
  stopMs: 1_000,
  remoteStopMs: 5_500, // time beyond that for which a request waits for another live process to stop a turn
  remotePollMs: 50, // time between two reads of a turn that another process runs, while it has more each time
  remoteSilentMs: 500, // the same time while it has nothing: a notice arrives when it has
  // age up to which records that the console changes are used without a read; a second at most, with the read
  catalogFreshMs: 800,

  // Health, load and metrics
  loadStepSeconds: 5, // contract 9
  loadSteps: 720, // an hour
  scrapeKeptMs: 250,
  scrapesFreshMax: 10, // scrapes in a row that are fresh nevertheless

  // Many processes on one machine
  processesMax: 64,
  workerMeasureMs: 1_000, // time for a worker to report its metrics

  // Ending
  drainMs: 30_000, // contract 11
} as const;
