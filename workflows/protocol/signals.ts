/**
 * The signals to long-lived workflows. Those of the product carry no data: the data is in PostgreSQL, and the signal's name says
 * why to look there. The transaction that makes the change records the signal with the wake (`db/wakes/wakes.ts`).
 *
 * Some of them decide when an operator sends them (`DECIDING`), with who decides and why.
 */

/** Work is due. Sent only if the next round would be too late, so that a thousand messages cause one signal. */
const DUE = {
  messagesDue: 'Messages are waiting for the line, or the next one is due earlier.',
  dripsBuffered: 'Drips were accepted.',
  deliveriesDue: 'Events are waiting for delivery to webhooks.',
  notificationsDue: 'Notifications of the workspace are due.',
  mailsDue: 'Emails are due.',
  filesDue: 'A contact sent files, or a call was recorded.',
  repliesDoubted:
    'Replies wait for the model: whether they ask to be left alone, or when who is away is back.',
  contactsJoined: 'Contacts wrote with the code of an opt-in link.',
  chatsDue: 'Chats are to be told of drafts, or of what became of them.',
  rulesDue: 'Something has happened that rules are about.',
  personalizationsDue: 'Messages are waiting to be personalized.',
  stepDue: 'The next step of the request is due, or was completed elsewhere.',
  leadsAdded: 'Leads were added.',
  progressDue: 'The last active leads may have finished.',
  requested: 'The work was requested.',
} as const;

/** Something happened. Always sent after the commit. */
const FACTS = {
  lineChanged: 'The settings, the health, the workspace or the subscription of the line has changed.',
  connected: 'The line was connected to a carrier, or the CRM to the workspace.',
  paymentSettled: 'The payment provider reported the result of a payment.',
  cancelRequested: 'Its workspace canceled the request. Sent by an operator, it cancels it.',
  planChanged: 'The plan of the workspace has changed.',
  retryRequested: 'Its workspace requested a retry, or another version of the draft.',
  contactWrote: 'A contact wrote.',
  drafted: 'Somebody wrote the draft.',
  approve: 'Somebody approved the draft. Sent by an operator, it approves it: {by, reason, message}.',
  reject: 'Somebody rejected the draft. Sent by an operator, it rejects it.',
  markSent: 'Somebody answered the contact in another way. Sent by an operator, it claims the draft.',
  suspicionChanged: 'The contact may have asked to be left alone, or somebody has decided that they did not.',
  superseded: 'The contact wrote again, was answered by a person, or got another draft.',
  started: 'The campaign was started. Sent by an operator, it starts it.',
  paused: 'The campaign was paused. Sent by an operator, it pauses it.',
  resumed: 'The campaign was resumed. Sent by an operator, it resumes it.',
  archived: 'The campaign was archived or deleted. Sent by an operator, it archives it.',
  leadsDone: 'No lead is active any more.',
  /** Sent by the sweep, and in test mode by the clock that has moved on. */
  overdue:
    'The next round is overdue: a signal was lost, the clock of test mode has moved, or the run is a month old.',
} as const;

export const SIGNALS = { ...DUE, ...FACTS } as const;
export type SignalName = keyof typeof SIGNALS;

/** Whether the signal is sent even if the next round is in time. */
export const isFact = (signal: SignalName): boolean => signal in FACTS;

/** The signals that run the command they are named for, unless their sender has run it before. */
const DECIDING = new Set<SignalName>([
  'approve',
  'reject',
  'markSent',
  'started',
  'paused',
  'resumed',
  'archived',
  'cancelRequested',
]);

/** The argument of a deciding signal that follows a committed change. It may arrive late, so it must not decide again. */
const COMMITTED = { committed: true };

/** The arguments with which the product itself sends a signal. */
export const signalArgs = (signal: SignalName): unknown[] => (DECIDING.has(signal) ? [COMMITTED] : []);

export const isCommitted = (argument: unknown): boolean =>
  (argument as Partial<typeof COMMITTED> | null | undefined)?.committed === true;
