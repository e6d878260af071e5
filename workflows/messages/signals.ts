/**
 * The signals to long-lived workflows. A signal carries no data: the data is in PostgreSQL, and the signal's name says why
 * to look there. The transaction that makes the change records the signal with the wake (`db/wakes.ts`).
 */

/** Work is due. Sent only if the workflow would look too late, so that a thousand messages cause one signal. */
const DUE = {
  messagesDue: 'Messages wait for the line, or the next one is due earlier.',
  dripsBuffered: 'Drips were accepted.',
  deliveriesDue: 'Events wait for the webhooks subscribed to them.',
  notificationsDue: 'Notifications of the workspace are due.',
  mailsDue: 'Emails are to be sent.',
  filesDue: 'A contact sent files, or a call was recorded.',
  personalizationsDue: 'Messages wait to be written for their leads.',
  stepDue: 'Something is to be done for the request, or was done by somebody else.',
  leadsAdded: 'Leads were added.',
  progressDue: 'The last leads under way may be done.',
  requested: 'Somebody asked for it.',
} as const;

/** Something happened. Always sent after the commit. */
const FACTS = {
  lineChanged: 'The settings, the health or the workspace of the line has changed.',
  connected: 'The line was connected to a carrier.',
  paymentSettled: 'The payment provider said what became of the payment.',
  cancelRequested: 'Its workspace canceled the request.',
  planChanged: 'The plan of the workspace has changed.',
  retryRequested: 'Its workspace asked to try again.',
  contactWrote: 'A contact wrote.',
  approve: 'Somebody approved the draft.',
  reject: 'Somebody rejected the draft.',
  markSent: 'Somebody answered the contact in another way.',
  superseded: 'The contact wrote again, or was answered by a person.',
  started: 'The campaign was started.',
  paused: 'The campaign was paused.',
  resumed: 'The campaign was resumed.',
  archived: 'The campaign was archived or deleted.',
  leadsDone: 'No lead is under way any more.',
  /** Sent by the sweep only. */
  overdue: 'Its time has passed without its having looked: a signal was lost.',
} as const;

export const SIGNALS = { ...DUE, ...FACTS } as const;
export type SignalName = keyof typeof SIGNALS;

/** Whether a signal is sent even to a workflow that looks in time. */
export const isFact = (signal: SignalName): boolean => signal in FACTS;
