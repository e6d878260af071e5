import { i18n, type MessageDescriptor } from '@lingui/core';
import { msg, t } from '@lingui/core/macro';
import type { ResponseOf } from '#console/api/routes.ts';
import { fullTimeOf } from '#console/lib/format.ts';
import { locale } from '#console/lib/locale.ts';
import { reasonName } from '#console/lib/wait-names.ts';

export type Event = ResponseOf<'GET /api/messages/{id}/timeline'>['events'][number];

/** What happened to a message. The API says it in English, with more details. */
export const eventText = (event: Event, zone: string): string =>
  locale === 'en' ? event.text : TEXTS[event.type](dataOf(event.data, zone));

interface Data {
  /** A field with a text. */
  of: (name: string) => string | null;
  /** A field with a time. */
  timeOf: (name: string) => string | null;
}

const dataOf = (data: Event['data'], zone: string): Data => {
  const of = (name: string): string | null => {
    const value = data[name];
    return typeof value === 'string' && value !== '' ? value : null;
  };
  return {
    of,
    timeOf: (name) => {
      const at = of(name);
      return at === null ? null : fullTimeOf(at, zone);
    },
  };
};

const TEXTS: Record<Event['type'], (data: Data) => string> = {
  accepted: ({ of }) => {
    if (of('corrects') !== null) return t`Sent to correct a message of a campaign`;
    const source = SOURCES[of('source') ?? ''];
    return source ? i18n._(source) : t`Accepted`;
  },
  scheduled: ({ timeOf }) => {
    const time = timeOf('scheduledDate') ?? '';
    return t`Scheduled for ${time}`;
  },
  moved: ({ of, timeOf }) => {
    const [why, time] = [reasonOf(of), timeOf('to')];
    if (of('toLineId') !== null) return t`Moved to another line: ${why}`;
    return time === null
      ? withDetails(t`The carrier did not take the message. It is tried again later`, of('reason') && why)
      : t`Moved to ${time}: ${why}`;
  },
  held: ({ of, timeOf }) => {
    const [why, time] = [reasonOf(of), timeOf('until')];
    const text = time === null ? t`Held: ${why}` : t`Held until ${time}: ${why}`;
    return withDetails(text, of('by'), of('note'), of('error'));
  },
  ordered: ({ of }) =>
    withDetails(
      of('action') === 'message.skipped' ? t`To be canceled` : t`To be sent at once`,
      of('by'),
      of('reason'),
    ),
  edited: acted(msg`The text was replaced`, msg`The text could not be replaced`),
  unsent: acted(msg`The message was taken back`, msg`The message could not be taken back`),
  reacted: acted(msg`We reacted to it`, msg`The reaction was not sent`),
  claimed: ({ of }) => {
    const name = of('carrier') ?? '';
    if (name === 'simulated') return t`Handed to the simulated carrier`;
    const carrier = BRANDS[name] ?? name;
    return t`Handed to the carrier ${carrier}`;
  },
  sent: () => t`The carrier accepted the message`,
  delivered: () => t`Delivered, as the carrier reports`,
  read: () => t`Read by the contact`,
  clicked: ({ of }) => withDetails(t`A link was opened`, of('url')),
  failed: ({ of }) => withDetails(t`It was not sent`, of('reason') && reasonOf(of)),
  fallback: ({ of }) => {
    const [outcome, reason] = [of('outcome'), of('reason')];
    if (outcome === 'accepted') return t`The carrier accepted the SMS`;
    if (outcome === null && (reason === null || reason === 'forced'))
      return t`An SMS is sent in place of the message`;
    return outcome === null || outcome === 'unavailable'
      ? withDetails(t`The contact cannot be reached on this channel`, reason && reasonName(reason))
      : withDetails(t`The carrier did not take it`, reason && reasonName(reason));
  },
  canceled: ({ of }) => {
    const known = CANCELLATIONS[of('reason') ?? ''];
    return known ? i18n._(known) : t`Canceled before it was sent`;
  },
  reconciled: ({ of }) => {
    const known = RECONCILED[of('outcome') ?? ''];
    return known ? i18n._(known) : t`The carrier answered late`;
  },
  webhook_delivered: ({ of }) => {
    const event = of('event') ?? '';
    return t`A webhook took ${event}`;
  },
  webhook_failed: ({ of }) => {
    const event = of('event') ?? '';
    return withDetails(t`A webhook did not take ${event}`, of('error'));
  },
};

/** `reason` is set if it failed. */
function acted(did: MessageDescriptor, not: MessageDescriptor): (data: Data) => string {
  return ({ of }) => {
    const reason = of('reason');
    return withDetails(i18n._(reason === null ? did : not), of('by'), reason);
  };
}

const reasonOf = (of: Data['of']): string => {
  const reason = of('reason') ?? '';
  const known = MOVES[reason];
  return known ? i18n._(known) : reasonName(reason);
};

const withDetails = (text: string, ...details: readonly (string | null)[]): string => {
  const known = details.filter((detail) => detail !== null);
  return known.length === 0 ? text : `${text} (${known.join(', ')})`;
};

const BRANDS: Partial<Record<string, string>> = {
  bluebubbles: 'BlueBubbles',
  linq: 'Linq',
  sendblue: 'Sendblue',
  smtp: 'SMTP',
  telnyx: 'Telnyx',
  twilio: 'Twilio',
};

type Texts = Partial<Record<string, MessageDescriptor>>;

const SOURCES: Texts = {
  api: msg`Accepted from the API`,
  'crm-drip': msg`Accepted from the API for paced sending`,
  inbox: msg`Written in the inbox`,
  device: msg`Sent from the phone or computer of the line`,
  campaign: msg`Created by a campaign`,
  'ai-draft': msg`Created from an approved draft`,
  autopilot: msg`Written and sent by the autopilot`,
  rule: msg`Sent by a rule`,
  crm: msg`Written in the connected CRM`,
  'fallback-sms': msg`Requested as an SMS in place of another message`,
};

/** Why a message left its line, where no message waits for that. */
const MOVES: Texts = {
  by_operator: msg`an operator moved it`,
  line_left: msg`its line has left the workspace`,
  line_stopped: msg`its line could not send`,
};

const CANCELLATIONS: Texts = {
  campaign_ended: msg`Canceled: the campaign ended`,
  reply: msg`Canceled: the contact replied`,
  opt_out: msg`Canceled: the contact opted out`,
  no_consent: msg`Canceled: the contact withdrew consent`,
  failed: msg`Canceled: an earlier message of the campaign could not be sent`,
  lead_deleted: msg`Canceled: the contact was deleted`,
};

const RECONCILED: Texts = {
  accepted: msg`The carrier had not answered; asked again, it had accepted the message`,
  not_sent: msg`The carrier had not answered; asked again, it had not taken the message`,
  unknown: msg`The carrier had not answered, and could not tell whether it took the message`,
};
