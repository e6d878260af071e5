import { ANSWER_SOURCES } from '#db/commands/drafts/draft-events.ts';
import type { AttemptRow } from '#db/queries/sending/attempts.ts';
import { findActionTarget } from '#db/queries/messages/message-actions.ts';
import {
  recordSubject,
  threadOfContact,
  threadOfMessage,
  threadOfSequence,
} from '#db/queries/messages/email-threads.ts';
import { type LeadRow, presentLead } from '#db/queries/contacts/leads.ts';
import type { MessageRow } from '#db/queries/messages/messages.ts';
import type { Settled } from '#db/commands/sending/outcomes.ts';
import { trackLinks } from '#db/commands/messages/message-links.ts';
import { withTenant } from '#db/connection/transactions.ts';
import { currentTime } from '#domain/base/clock.ts';
import { emailSubject } from '#domain/messages/email-thread.ts';
import { linkTargets } from '#domain/messages/message-link.ts';
import { type OutgoingText, outgoingText } from '#domain/messages/outgoing-text.ts';
import { renderTemplate, templateProblem } from '#domain/messages/template.ts';
import { dialled } from '#domain/base/contact-key.ts';
import type { CarrierGroup, OutboundMessage } from '#providers/carriers/carrier.ts';
import { callbackAddress } from '#providers/carriers/line-carrier.ts';
import { createUnsubscribeLinks } from '#providers/unsubscribe-link.ts';
import type { Dependencies } from '../dependencies.ts';
import { type Files, outboundFiles } from './outbound-files.ts';

/** The content of an attempt, before its text is rendered and its files are linked. */
export interface Rendering {
  attempt: AttemptRow;
  message: MessageRow;
  /** The text of the message, or of its fallback SMS, before it is rendered. */
  template: string;
  lead: LeadRow | null;
  from: OutboundMessage['from'];
  /** The group to which it goes; null: to a contact. */
  group: CarrierGroup | null;
}

/** The message as the carrier gets it, or the outcome of an attempt that cannot be made. */
export type Composed = { message: OutboundMessage } | { outcome: Settled };

export const renderMessage = (message: MessageRow, template: string, lead: LeadRow | null): OutgoingText =>
  outgoingText(template, lead && presentLead(lead), message.attachmentUrls.length);

/** The subject that the message has of its own. One that was stored before subjects were templates may not be one. */
function subjectText({ subject }: MessageRow, lead: LeadRow | null): string {
  if (subject === null || templateProblem(subject) !== null) return subject ?? '';
  return renderTemplate(subject, lead && presentLead(lead));
}

/** Whether a message answers the contact: a person wrote it in the inbox, or a program soon after the contact wrote. */
const isAnswer = ({ source, subject, campaignId, answersUntil }: MessageRow): boolean =>
  ANSWER_SOURCES.has(source) ||
  (subject === null && campaignId === null && answersUntil !== null && answersUntil > currentTime());

export function createComposer({
  pools,
  links,
  signer,
  publicUrl,
}: Pick<Dependencies, 'pools' | 'links' | 'signer' | 'publicUrl'>) {
  const unsubscribeLinks = createUnsubscribeLinks(publicUrl, signer);

  async function filesOf(message: MessageRow, { channel }: AttemptRow): Promise<Files> {
    if (message.attachmentUrls.length === 0) return { kind: 'files', attachments: [] };
    return withTenant(pools, message.workspaceId, (db) => outboundFiles(db, message, channel, links));
  }

  /** Only a campaign may ask who opens links. */
  const linkedText = async (message: MessageRow, text: string): Promise<string> =>
    message.campaignId === null || linkTargets(text, publicUrl).length === 0
      ? text
      : withTenant(pools, message.workspaceId, (db) => trackLinks(db, message, text, publicUrl));

  /** What only an email has. */
  async function emailFields(
    { attempt, message, lead, from }: Rendering,
    text: string,
  ): Promise<Pick<OutboundMessage, 'subject' | 'thread' | 'unsubscribeUrl'>> {
    const own = subjectText(message, lead);
    const { workspaceId, id: messageId } = message;
    const { subject, ids } = await withTenant(pools, workspaceId, async (db) => {
      const { replyToId } = message;
      const thread =
        (replyToId === null ? null : await threadOfMessage(db, replyToId)) ??
        (await threadOfSequence(db, message)) ??
        (isAnswer(message) ? await threadOfContact(db, attempt.address) : null);
      const shown = emailSubject(own, { thread, text, sender: from.name });
      await recordSubject(db, messageId, shown);
      return { subject: shown, ids: thread?.ids ?? [] };
    });
    const inReplyTo = ids.at(-1);
    return {
      subject,
      ...(inReplyTo !== undefined && { thread: { inReplyTo, references: [...ids] } }),
      unsubscribeUrl: unsubscribeLinks.url({ workspaceId, messageId }),
    };
  }

  /** What an answer and an effect add to a message of the line, which the contact gets from nobody else. */
  async function richFields({
    attempt,
    message,
  }: Rendering): Promise<Pick<OutboundMessage, 'replyTo' | 'effect'>> {
    const { replyToId, effect, workspaceId } = message;
    if (attempt.kind === 'fallback' || attempt.channel === 'email') return {};
    const target =
      replyToId === null
        ? null
        : await withTenant(pools, workspaceId, (db) => findActionTarget(db, replyToId));
    const isKnown = target?.lineId === attempt.lineId && target.unsentAt === null;
    return {
      ...(isKnown && target.carrierMessageId !== null && { replyTo: target.carrierMessageId }),
      ...(effect !== null && { effect }),
    };
  }

  return async (rendering: Rendering): Promise<Composed> => {
    const { attempt, message, template, lead, from, group } = rendering;
    const rendered = renderMessage(message, template, lead);
    if ('reason' in rendered) return { outcome: { kind: 'unsendable', ...rendered } };
    const files = await filesOf(message, attempt);
    if (files.kind !== 'files') return { outcome: files };
    return {
      message: {
        attemptId: attempt.id,
        messageId: message.id,
        lineId: attempt.lineId,
        channel: attempt.channel,
        from,
        to: { address: dialled(attempt.address, message.recipientPhone), name: message.recipientName },
        ...(group && { group }),
        text: await linkedText(message, rendered.text),
        ...(attempt.channel === 'email' && (await emailFields(rendering, rendered.text))),
        attachments: files.attachments,
        ...(await richFields(rendering)),
        callbackUrl: callbackAddress(publicUrl, { name: attempt.carrier }, attempt.lineId),
      },
    };
  };
}
