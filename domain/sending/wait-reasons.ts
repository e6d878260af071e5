import { hourBounds } from '../base/calendar.ts';
import type { CampaignStatus } from '../campaigns/campaign.ts';
import type { PacedLine } from './holds.ts';
import { dailyNewCap, hourlyNewCap } from './line-limits.ts';
import { fromText, momentText, soonText } from './moment-text.ts';
import type { WakingHours } from './quiet-hours.ts';
import { credentialsRefusal } from '../messages/send-outcome.ts';
import type { SendWindow } from './send-window.ts';
import { lawName } from './us-quiet-hours.ts';

/** What the texts say about a wait, besides its reason. */
export interface WaitDetails {
  now: Date;
  /** When it ends; now, if that is not known. */
  until: Date;
  /** The workspace's time zone, in which times are shown. */
  timezone: string;
  /** null: no line of the workspace can send the message. */
  line: PacedLine | null;
  window: SendWindow | undefined;
  /** The quiet hours that apply to the message. */
  quiet: WakingHours | undefined;
  campaign: CampaignStatus | null;
  /** The message was handed to the carrier. */
  isSending: boolean;
  /** The carrier's reason for the last failed call for this message, or else for its line. */
  lastFailure: string | null;
  /** The number of messages of the line that come before this one. */
  ahead: number;
  /** The required task queue that no worker serves. */
  unserved: string;
}

interface Words {
  /** For a person, about a message that waits. */
  text: (wait: WaitDetails) => string;
  /** For operators, about the messages of a line that waits; absent: no line waits for this. */
  brief?: string;
  /** For the timeline of a message that has waited. */
  past?: string;
}

/** Everything that a message may wait for: the `holdReason` of a message and the `reason` of what it waits for. */
export const WAIT_REASONS = {
  scheduled: {
    brief: 'The next message is scheduled for later.',
    text: ({ now, until, timezone, ahead }) => {
      if (until > now) return `The message is scheduled for ${momentText(until, now, timezone)}.`;
      if (ahead === 0) return 'The message is next in turn on its line.';
      const others = ahead === 1 ? 'one other message' : `${ahead} other messages`;
      return `The message waits for its turn: ${others} of the line ${ahead === 1 ? 'is' : 'are'} sent before it.`;
    },
  },
  workspace_suspended: {
    brief: 'An operator has suspended the workspace; its messages keep their place until it is resumed.',
    past: 'the workspace was suspended',
    text: () =>
      'The operator of this installation has suspended the workspace, so nothing is sent. The message keeps its place and is sent once the workspace is resumed.',
  },
  subscription_past_due: {
    brief: 'The subscription is past due or canceled; messages keep their place until there is a paid one.',
    past: 'the subscription was past due or canceled',
    text: () =>
      "The workspace's subscription is past due or canceled, so nothing is sent. The message keeps its place and is sent once there is a paid subscription.",
  },
  recipient_opted_out: {
    brief: 'The contact has opted out.',
    text: () =>
      'The contact has opted out of messages. This message is not sent; it ends as failed when its turn comes.',
  },
  campaign_paused: {
    text: () =>
      'The campaign is paused. The message keeps its place and is sent once the campaign is resumed.',
  },
  campaign_inactive: {
    text: ({ campaign }) => `The campaign is not active (${campaign ?? 'gone'}), so the message is not sent.`,
  },
  personalization: {
    text: () => 'The text of the message is still being written for this contact.',
  },
  lead_paused: {
    past: 'the lead was paused in the campaign',
    text: () =>
      'The campaign is paused for this lead, who has answered or is away. The message is sent once the lead goes on.',
  },
  opt_out_suspected: {
    text: () =>
      'The contact seems to have asked to be left alone. The message waits until somebody confirms or dismisses that.',
  },
  previous_step: {
    text: () =>
      'The message is a later step of its campaign. It is scheduled once the step before it has been sent.',
  },

  no_line: {
    text: () =>
      'No line of the workspace can carry the message. It is sent once there is an active line for its channel.',
  },
  payment_missing: {
    brief: 'The line has not been paid for; its messages keep their place until it is.',
    past: 'the line had not been paid for',
    text: () => 'The line has not been paid for yet. The message is sent once the line is paid and set up.',
  },
  line_failed: {
    brief: 'The line could not be set up; its messages keep their place until it is requested again.',
    past: 'the line could not be set up',
    text: () =>
      'The line could not be set up. The message is sent once the line is requested again and is active.',
  },
  line_not_connected: {
    brief: 'The line is not connected to a carrier; its messages keep their place until it is.',
    past: 'the line was not connected to a carrier',
    text: () => 'The line is not connected to a carrier yet. The message is sent once it is connected.',
  },
  line_provisioning: {
    brief: 'The line is being set up; its messages keep their place until it is active.',
    past: 'the line was being set up',
    text: () => 'The line is still being set up. The message is sent once the line is active.',
  },
  line_paused: {
    brief: 'The line is paused; its messages keep their place until it is resumed.',
    past: 'the line was paused',
    text: () => 'The line is paused. The message keeps its place and is sent once the line is resumed.',
  },
  line_inactive: {
    brief: 'The line is not active; its messages keep their place.',
    past: 'the line was switched off',
    text: () =>
      'The line is switched off. The message keeps its place and is sent once the line is switched on.',
  },
  line_down: {
    brief: 'The line is down; its messages keep their place until it recovers.',
    past: 'the line was down',
    text: ({ line }) =>
      `The line is down: it failed three checks in a row${answered(line?.healthReason ?? null)}. The message keeps its place and is sent once the line recovers.`,
  },
  line_changing: {
    brief: 'The line is being moved or connected to another carrier.',
    text: () => 'The line is being moved or connected to another carrier. The message will be sent shortly.',
  },
  worker_unavailable: {
    text: ({ unserved }) =>
      `No worker serves the task queue ${unserved}, so nothing is sent. The message is sent once a worker for it runs.`,
  },

  carrier_pause: {
    brief: 'The carrier currently accepts no messages; one is tried after a growing pause.',
    past: 'the carrier took no messages',
    text: ({ isSending, ...wait }) => {
      const text = `The carrier takes no messages at the moment${answered(lastOf(wait))}.`;
      return isSending ? `${text} ${ASKED}` : `${text} The next one is tried ${soon(wait)}.`;
    },
  },
  credentials_refused: {
    brief: 'The carrier refuses the credentials of the line; one message is tried after a growing pause.',
    past: 'the carrier refused the credentials of the line',
    text: ({ isSending, ...wait }) => {
      const said = lastOf(wait);
      const text = `The carrier refuses the credentials of the line${answered(said && (credentialsRefusal(said) ?? said))}.`;
      const connect = 'Connect the line to its carrier again';
      return isSending
        ? `${text} ${connect}. ${ASKED}`
        : `${text} ${connect}; until then it is tried again ${soon(wait)}.`;
    },
  },
  carrier_retry: {
    past: 'the carrier did not take it',
    text: (wait) =>
      `The carrier did not take the message${answered(wait.lastFailure)}. It is tried again ${soon(wait)}.`,
  },
  set_aside: {
    past: 'the line could not send it, although it sent others',
    text: ({ lastFailure }) =>
      `The line cannot send this message, although it sends others${answered(lastFailure)}. An operator of the installation decides whether it is tried again. It can be canceled.`,
  },
  carrier_answer: {
    text: () => 'The message was handed to the carrier, whose answer has not come yet.',
  },
  carrier_outcome: {
    text: () =>
      'The carrier did not answer in time. It is asked whether it took the message, which is not sent a second time.',
  },
  fallback_sms: {
    text: (wait) => {
      const text = 'The contact cannot be reached on the primary channel. An SMS is sent in its place.';
      if (wait.until <= wait.now) return text;
      return `${text} The SMS account did not take it${answered(wait.lastFailure)}. It is tried again ${soon(wait)}.`;
    },
  },

  line_gap: {
    brief: 'The line pauses between two sends.',
    text: (wait) =>
      `The line pauses about ${seconds(wait.line?.minGapSeconds ?? 0)} between two messages. The next one is sent ${soon(wait)}.`,
  },
  contact_gap: {
    brief: 'The contact has just been sent another message.',
    past: 'the contact had just been sent another message',
    text: (wait) =>
      `The contact was sent another message less than ${seconds(wait.line?.contactGapSeconds ?? 0)} before. This one is sent ${soon(wait)}.`,
  },
  contact_busy: {
    brief:
      'A member is writing with the contact; messages of campaigns wait for the end of the conversation.',
    past: 'a member was writing with the contact',
    text: (wait) =>
      `A member is writing with the contact, so messages of campaigns wait. This one is sent ${fromText(wait.until, wait.now, wait.timezone)}, a day after the member's last message, or once the conversation is closed before.`,
  },
  frequency_cap: {
    brief: 'The contact has got as many messages of campaigns as the workspace allows.',
    past: 'the contact had got as many messages of campaigns as the workspace allows',
    text: ({ line, now, until, timezone }) => {
      const cap = line?.persons?.frequencyCap;
      const got = cap
        ? `${count(cap.messages, 'message')} of campaigns within ${count(cap.days, 'day')}, as many`
        : 'as many messages of campaigns';
      return `The contact has got ${got} as the workspace allows. This message is sent ${fromText(until, now, timezone)}.`;
    },
  },
  send_window: {
    brief: 'Outside its send window; moved to the next opening.',
    past: 'it was outside of its send window',
    text: ({ now, until, timezone, window }) =>
      `The message may be sent ${windowText(window)}. It is sent ${fromText(until, now, window?.timezone ?? timezone)}.`,
  },
  recipient_quiet_hours: {
    brief: 'The recipient is asleep by the quiet hours; moved to the end of these.',
    past: 'it was too early or too late where the recipient is',
    text: ({ now, until, timezone, quiet }) =>
      `It is too early or too late where the recipient is: messages are sent ${quietText(quiet)}. It is sent ${fromText(until, now, quiet?.zones[0] ?? timezone)}.`,
  },
  hourly_new_cap: {
    brief: "The line's new conversations of this hour are used up; moved to the next hour.",
    past: 'the line had reached its limit of new contacts of the hour',
    text: ({ line, now, until, timezone }) =>
      `The line has reached its limit of ${newContacts(line && hourlyNewCap(line, hourBounds(timezone, now).start))} this hour; this message is sent ${fromText(until, now, timezone)}.`,
  },
  daily_new_cap: {
    brief: "The line's new conversations of today are used up; moved to the next morning.",
    past: 'the line had reached its limit of new contacts of the day',
    text: ({ line, now, until, timezone }) =>
      `The line has reached its limit of ${newContacts(line && dailyNewCap(line, now))} today; this message is sent ${fromText(until, now, timezone)}.`,
  },
  daily_total_cap: {
    brief: "The line's messages of today are used up; moved to the next morning.",
    past: 'the line had reached its limit of messages of the day',
    text: ({ line, now, until, timezone }) =>
      `The line has reached its limit of ${count(line?.dailyTotal ?? 0, 'message')} today; this message is sent ${fromText(until, now, timezone)}.`,
  },
  line_resting: {
    brief: 'The reputation of the line is critical: it opens no new conversations until it has recovered.',
    past: 'the reputation of the line is critical, so it opens no new conversations',
    text: ({ now, until, timezone }) =>
      `The reputation of the line is critical, so it opens no new conversations. This message is sent ${fromText(until, now, timezone)} at the earliest, or once the line has recovered before.`,
  },
} satisfies Record<string, Words>;

export type WaitReason = keyof typeof WAIT_REASONS;

/** What a whole line, or all that the rules treat alike on it, may wait for. */
export type LineReason = {
  [R in WaitReason]: (typeof WAIT_REASONS)[R] extends { brief: string } ? R : never;
}[WaitReason];

const WORDS: Record<string, Words | undefined> = WAIT_REASONS;

/** The words for operators, if a line may wait for this. */
export const briefOf = (reason: WaitReason): string => WORDS[reason]?.brief ?? reason;

/** For the timeline: why a message waited. @param reason as recorded, perhaps by another version. */
export const pastOf = (reason: string): string => WORDS[reason]?.past ?? reason;

/** About a message whose outcome is not known. */
const ASKED = 'It is asked whether it took this one, which is not sent a second time.';

/** The words for a person. */
export const textOf = (reason: WaitReason, wait: WaitDetails): string => WAIT_REASONS[reason].text(wait);

const soon = ({ now, until, timezone }: Pick<WaitDetails, 'now' | 'until' | 'timezone'>): string =>
  soonText(until, now, timezone);

/** What the carrier said last: about the line, while it takes nothing. */
const lastOf = ({ line, lastFailure }: Pick<WaitDetails, 'line' | 'lastFailure'>): string | null =>
  line?.lastFailure ?? lastFailure;

const count = (n: number, noun: string): string => `${n} ${noun}${n === 1 ? '' : 's'}`;
const newContacts = (n: number | null): string => count(n ?? 0, 'new contact');
const seconds = (n: number): string => count(n, 'second');

/** The carrier's reason, if known. */
const answered = (reason: string | null): string => (reason === null ? '' : ` (“${reason}”)`);

const WEEKDAYS = ['Sunday', 'Monday', 'Tuesday', 'Wednesday', 'Thursday', 'Friday', 'Saturday'];

function windowText(window: SendWindow | undefined): string {
  if (!window) return 'at any time';
  const { start = '00:00', end = '24:00', days, timezone } = window;
  const names = (days ?? []).toSorted((a, b) => a - b).map((index) => WEEKDAYS[index]);
  const on =
    days === undefined || names.length === 7
      ? ''
      : ` on ${new Intl.ListFormat('en').format(names.map(String))}`;
  return `between ${start} and ${end} ${timezone}${on}`;
}

function quietText(quiet: WakingHours | undefined): string {
  if (!quiet) return 'in the daytime';
  const { start, end, zones, law } = quiet;
  const places = new Intl.ListFormat('en').format(zones);
  const state = law === null ? '' : ` and by the law of ${lawName(law)}`;
  return `between ${start} and ${end} ${places}${state}`;
}
