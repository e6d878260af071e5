import { z } from 'zod';
import { toZoned } from '../base/calendar.ts';
import type { Channel } from '../base/channel.ts';
import { Capability } from '../lines/capability.ts';
import { hasLink } from '../lines/first-touch.ts';
import { isLikelyNumber } from '../base/phone.ts';
import { firstSendTime, type SendTimes } from '../sending/quiet-hours.ts';
import type { AcceptedMessage } from './accepted-message.ts';
import { smsSegments } from './sms-segments.ts';
import { unknownFields, unknownFieldText } from './template-fields.ts';
import { isLonger } from '../base/text.ts';

/** A hint to the sender of an accepted message. Never a refusal. */
export const Warning = z
  .object({
    code: z.enum([
      'first_message_link',
      'first_message_file',
      'many_unanswered',
      'sms_segments',
      'sms_too_long',
      'quiet_hours',
      'number_unlikely',
      'unknown_field',
      'unsupported_effect',
    ]),

    text: z.string().meta({ description: 'For a person; may change.' }),
    capability: Capability.optional().meta({
      description: 'With `unsupported_effect`: what the line of the message cannot do.',
    }),
    name: z.string().optional().meta({
      description: 'With `unknown_field`: the name in the template that no lead can have.',
      example: 'first_name',
    }),
    suggestion: z.string().nullable().optional().meta({
      description: 'With `unknown_field`: the field that was probably meant; null if none is like it.',
      example: 'firstName',
    }),
  })
  .meta({ id: 'Warning' });
export type Warning = z.infer<typeof Warning>;

export const Warnings = z.array(Warning).meta({
  description:
    'Hints about how the message may be received or what it costs, based on the template before it is rendered. Empty if there are none.',
});

/** A submitted message. */
export interface WarnedMessage {
  channel: Channel;
  text: string;
  files: number;
  /** The recipient's number in E.164; absent: it has none, or is not known. */
  phone?: string | null | undefined;
  /** The text of a fallback SMS; absent: none. */
  fallbackText?: string | undefined;
  subject?: string | null | undefined;
  /** The properties that its line cannot send; absent: its line is not known. */
  unsupported?: readonly Capability[] | undefined;
  /** The names of the workspace's custom fields; absent: not known. */
  customFields?: readonly string[] | undefined;
  /** Whether it is the first message to the contact; null: not known without a query. */
  isFirst: boolean | null;
  /** Messages in a row that the contact has not answered, without this one; null: not known. */
  unanswered: number | null;
  /** Until when the quiet hours postpone it; null: they do not, or it is not known without a query. */
  quietUntil: QuietUntil | null;
}

export interface QuietUntil {
  at: Date;
  /** The zone of the recipient. */
  zone: string;
}

/** When a message that quiet hours postpone is sent, apart from pacing; null: they do not postpone it. @param earliest its scheduled time. */
export function quietUntil({ window, quiet }: SendTimes, earliest: Date): QuietUntil | null {
  const [zone] = quiet?.zones ?? [];
  const [at, without] = [firstSendTime({ window, quiet }, earliest), firstSendTime({ window }, earliest)];
  return zone === undefined || at === null || at.getTime() === without?.getTime() ? null : { at, zone };
}

const MAX_SEGMENTS = 2;
/** Of Twilio (www.twilio.com/docs/api/errors/21617), and of Telnyx (developers.telnyx.com/docs/messaging/messages/sms-chunking). */
const MAX_SMS_LENGTH = 1600;
const MAX_SMS_SEGMENTS = 10;
const MANY_UNANSWERED = 2;

/** One check for each code, which says what is wrong; null: nothing. */
const CHECKS: Record<
  Exclude<Warning['code'], 'unknown_field' | 'unsupported_effect'>,
  (message: WarnedMessage) => string | null
> = {
  first_message_link: ({ isFirst, text }) =>
    isFirst !== false && hasLink(text)
      ? `${first(isFirst)} contains a link. Strangers take it for spam, and carriers filter it: ask first, and send the link with the answer.`
      : null,
  first_message_file: ({ isFirst, files }) =>
    isFirst !== false && files > 0
      ? `${first(isFirst)} contains a file, which strangers do not open and often report.`
      : null,
  many_unanswered: ({ unanswered }) =>
    unanswered !== null && unanswered >= MANY_UNANSWERED
      ? `The contact has not answered the last ${unanswered} messages. With each further one, more people opt out or report the line.`
      : null,
  sms_segments: (message) => {
    const { segments, encoding } = smsSegments(smsOf(message));
    if (segments <= MAX_SEGMENTS) return null;
    return `The SMS has ${segments} segments (${encoding}), each of which is billed as a message, and long texts are filtered more often.`;
  },
  sms_too_long(message) {
    const fate = 'it fails when it is to be sent, unless it is rendered shorter.';
    if (isLonger(smsOf(message), MAX_SMS_LENGTH))
      return `The SMS is longer than ${MAX_SMS_LENGTH.toLocaleString('en')} characters, which carriers refuse: ${fate}`;
    return smsSegments(smsOf(message)).segments > MAX_SMS_SEGMENTS
      ? `The SMS has more than ${MAX_SMS_SEGMENTS} segments, which some carriers, such as Telnyx, refuse: there, ${fate}`
      : null;
  },
  quiet_hours: ({ quietUntil: until }) =>
    until &&
    `Quiet hours postpone the message: it leaves on ${clockOf(until)} (${until.zone}) at the earliest, or when the recipient writes.`,
  number_unlikely: ({ phone }) =>
    typeof phone === 'string' && !isLikelyNumber(phone)
      ? 'No such number is known in the numbering plan of its country. Check it for a missing or a wrong digit.'
      : null,
};

/** About numbers of leads that were saved although their countries do not have them. */
export function numberWarnings(unlikely: readonly string[]): Warning[] {
  const [first] = unlikely;
  if (first === undefined) return [];
  const others = unlikely.length === 1 ? '' : ` (and ${unlikely.length - 1} more)`;
  const text = `The number ${first} is not known in the numbering plan of its country${others}. Check for a missing or a wrong digit.`;
  return [{ code: 'number_unlikely', text }];
}

const smsOf = ({ channel, text, fallbackText }: WarnedMessage): string =>
  channel === 'sms' ? text : (fallbackText ?? '');

const clockOf = ({ at, zone }: QuietUntil): string =>
  toZoned(zone, at).toPlainDateTime().toString({ smallestUnit: 'minute' }).replace('T', ' at ');

const first = (isFirst: boolean | null): string =>
  isFirst ? 'The first message to the contact' : 'The message, if it is the first one to the contact,';

/** In the order in which they are shown. Those about fields come last. */
export const CHECKED = Object.keys(CHECKS) as (keyof typeof CHECKS)[];

export const warningsOf = (message: WarnedMessage): Warning[] => [
  ...CHECKED.flatMap((code) => {
    const text = CHECKS[code](message);
    return text === null ? [] : [{ code, text }];
  }),
  ...fieldWarnings(message),
  ...(message.unsupported ?? []).map(unsupportedWarning),
];

/** What happens instead. */
const WITHOUT: Partial<Record<Capability, string>> = {
  voice_notes: 'The carrier of the line sends no voice notes: it is sent as an audio file.',
  replies: 'The carrier of the line cannot show what a message answers: it is sent as one like others.',
  effects: 'The carrier of the line knows no effects: it is sent without one.',
};

const unsupportedWarning = (capability: Capability): Warning => ({
  code: 'unsupported_effect',
  capability,
  text: WITHOUT[capability] ?? `The carrier of the line cannot send this: ${capability}. It is left out.`,
});

/** The properties of a message that need more than text, and which its line cannot send. */
export const unsupportedIn = (
  { voiceNote, replyToId, effect }: Pick<AcceptedMessage, 'voiceNote' | 'replyToId' | 'effect'>,
  able: readonly Capability[],
): Capability[] => {
  const needed: Capability[] = [
    ...(voiceNote ? ['voice_notes' as const] : []),
    ...(replyToId === null ? [] : ['replies' as const]),
    ...(effect === null ? [] : ['effects' as const]),
  ];
  return needed.filter((capability) => !able.includes(capability));
};

function fieldWarnings({ text, subject, fallbackText, customFields }: WarnedMessage): Warning[] {
  const templates = [text, subject ?? '', fallbackText ?? ''];
  const found = templates.flatMap((template) => unknownFields(template, customFields ?? null));
  return [...new Map(found.map((field) => [field.name, field])).values()].map((field) => ({
    code: 'unknown_field' as const,
    ...field,
    text: unknownFieldText(field),
  }));
}
