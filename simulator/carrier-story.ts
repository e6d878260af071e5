import { normalize } from '#domain/base/text.ts';
import type { WireEvent } from '#providers/carriers/simulated-protocol.ts';
import { behaviourOf } from './behaviour.ts';
import type { Step } from './callbacks.ts';
import type { Call, Inbound, Sent } from './carrier-log.ts';
import type { Fault } from './faults.ts';
import { inboundMediaUrl, RECORDING_URL, sampleMedia } from './carrier-media.ts';

const FILES_IN_A_BURST = 12;
const BETWEEN_FILES_MS = 1000;
const REPLY_MS = 200;

/** The events after a message was accepted: its receipt, then the recipient's reaction. */
export function afterSent(sent: Sent): Step[] {
  const { id, to } = sent;
  const delivered: Step = {
    afterMs: 100 + Math.random() * 200,
    event: (at) => ({
      kind: 'receipt',
      eventId: `${id}-delivered`,
      carrierMessageId: id,
      status: 'delivered',
      at,
    }),
  };
  const then = (event: Step['event']): Step[] => [delivered, { afterMs: REPLY_MS, event }];
  switch (behaviourOf(to)) {
    case 'reply':
      return [
        delivered,
        ...(to.includes('@') ? [] : [typing(sent)]),
        { afterMs: REPLY_MS, event: (at) => replyTo(sent, 'Sounds good, tell me more', at) },
      ];
    case 'opt_out':
      return then((at) => replyTo(sent, 'STOP', at));
    case 'react':
      return then((at) => ({
        kind: 'reaction',
        eventId: `${id}-reaction`,
        carrierMessageId: id,
        reaction: 'love',
        removed: false,
        from: to,
        at,
      }));
    case 'read':
      return then((at) => ({ kind: 'read', eventId: `${id}-read`, carrierMessageId: id, at }));
    case 'fail_late':
      return failedLate(id);
    case 'quote': {
      const quote = then((at) => replyTo(sent, `Liked “${rewritten(sent.text)}”`, at));
      return [...quote, ...quote.toReversed()];
    }
    case 'reply_with_files':
      return [
        ...then((at) => ({ ...replyTo(sent, 'Here are the photos', at), attachments: [sampleMedia(1)] })),
        ...moreFiles(sent),
      ];
    case 'unavailable':
    case 'refuse':
    case 'fail_twice':
    case 'lose_response':
    case 'respond_late':
    case 'deliver':
      return [delivered];
  }
}

const typing = ({ id, to }: Sent): Step => ({
  afterMs: 0,
  event: (at) => ({ kind: 'typing', eventId: `${id}-typing`, from: to, isOn: true, at }),
});

/** It failed, at first for no reason, and each report comes twice; a delivery that comes last is of a part only. */
function failedLate(id: string): Step[] {
  const receipt = (name: string, status: 'failed' | 'delivered', reason?: string): Step => ({
    afterMs: REPLY_MS,
    event: (at) => ({
      kind: 'receipt',
      eventId: `${id}-${name}`,
      carrierMessageId: id,
      status,
      ...(reason !== undefined && { reason }),
      at,
    }),
  });
  const [first, second] = [
    receipt('failed', 'failed'),
    receipt('explained', 'failed', 'The number is not in service'),
  ];
  return [first, first, second, first, second, receipt('delivered', 'delivered')];
}

/** A text as phones and carriers write it back: other quotation marks and dashes, decomposed, without line ends and outer spaces. */
const rewritten = (text: string): string =>
  normalize(
    text
      .trim()
      .replaceAll(/[“”„]/g, '"')
      .replaceAll(/[‘’]/g, "'")
      .replaceAll(/[–—]/g, '-')
      .replaceAll('…', '...')
      .replaceAll(/\s+/g, ' '),
    'NFD',
    MAX_REWRITTEN,
  );
const MAX_REWRITTEN = 100_000;

/** What is reported about a message with a fault; null: what is reported about any. */
export function misreported(sent: Sent, fault: Fault | null): Step[] | null {
  const steps = afterSent(sent);
  if (fault === 'lose_message') return [];
  if (fault === 'report_twice') return [...steps, ...steps, ...steps.toReversed()];
  if (fault !== 'report_reversed') return null;
  const { id } = sent;
  const read = (at: string) => ({ kind: 'read', eventId: `${id}-read`, carrierMessageId: id, at }) as const;
  return [{ afterMs: REPLY_MS, event: read }, ...steps.toReversed()];
}

function replyTo({ id, to, group }: Sent, text: string, at: string): Extract<WireEvent, { kind: 'reply' }> {
  return {
    kind: 'reply',
    eventId: `${id}-reply`,
    carrierMessageId: `${id}-reply`,
    from: to,
    text,
    attachments: [],
    replyTo: id,
    autoReply: false,
    ...(group && group.id !== null && { group: { ...group, id: group.id } }),
    at,
  };
}

/** A large batch of files arrives in parts: each further file by itself. */
function moreFiles({ id }: Sent): Step[] {
  return Array.from({ length: FILES_IN_A_BURST - 1 }, (_, index) => ({
    afterMs: BETWEEN_FILES_MS,
    event: (at) => ({
      kind: 'reply_attachments',
      eventId: `${id}-file-${index + 2}`,
      carrierMessageId: `${id}-reply`,
      attachments: [sampleMedia(index + 2)],
      at,
    }),
  }));
}

/** A message from a contact, optionally in reply to `replyTo`, the carrier's id of a message. */
export function afterInbound(
  { id, from, text, attachments, autoReply, group }: Inbound,
  replyTo: string | undefined,
): Step[] {
  return [
    {
      afterMs: 0,
      event: (at) => ({
        kind: 'reply',
        eventId: id,
        carrierMessageId: id,
        from,
        text,
        attachments: attachments.map(({ name, contentType }, index) => ({
          name,
          contentType,
          url: inboundMediaUrl(id, index),
        })),
        ...(replyTo !== undefined && { replyTo }),
        ...(group && { group }),
        autoReply,
        at,
      }),
    },
  ];
}

const RINGING_SECONDS = 4;
/** Calls are billed per started minute. */
const CENTS_PER_MINUTE = 2;

/** The events of a call are posted in quick succession, with realistic timestamps. */
export function afterCall({ id, from, to, seconds, answered, recording, endedAt }: Call): Step[] {
  const before = (secondsBefore: number): string =>
    new Date(Date.parse(endedAt) - secondsBefore * 1000).toISOString();
  const step = (status: Extract<WireEvent, { kind: 'call' }>['status'], at: string, ending = {}): Step => ({
    afterMs: 50,
    event: () => ({ kind: 'call', eventId: `${id}-${status}`, callId: id, from, to, status, at, ...ending }),
  });
  const talked = answered ? seconds : 0;
  const ringing = [
    step('requested', before(talked + RINGING_SECONDS + 1)),
    step('ringing', before(talked + RINGING_SECONDS)),
  ];
  if (!answered) return [...ringing, step('failed', endedAt, { durationSec: 0, hangupCause: 'no_answer' })];
  const minutes = Math.ceil(seconds / 60);
  const ending = {
    durationSec: seconds,
    hangupCause: 'normal_clearing',
    billedSec: minutes * 60,
    billedCents: minutes * CENTS_PER_MINUTE,
    ...(recording && { recordingUrl: RECORDING_URL }),
  };
  return [...ringing, step('answered', before(talked)), step('billed', endedAt, ending)];
}
