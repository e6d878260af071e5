import type { AttemptRow } from '#db/queries/attempts.ts';
import { type LeadRow, presentLead } from '#db/queries/leads.ts';
import type { MessageRow } from '#db/queries/messages.ts';
import type { Settled } from '#db/commands/sending/outcomes.ts';
import { withTenant } from '#db/transactions.ts';
import { type OutgoingText, outgoingText } from '#domain/outgoing-text.ts';
import type { OutboundMessage } from '#providers/carriers/carrier.ts';
import { callbackAddress } from '#providers/carriers/line-carrier.ts';
import { createUnsubscribeLinks } from '#providers/unsubscribe-link.ts';
import type { Dependencies } from './dependencies.ts';
import { type Files, outboundFiles } from './outbound-files.ts';

/** The content of an attempt, before its text is rendered and its files are linked. */
export interface Draft {
  attempt: AttemptRow;
  message: MessageRow;
  /** The text of the message, or of its fallback SMS, before it is rendered. */
  template: string;
  lead: LeadRow | null;
  from: OutboundMessage['from'];
}

/** The message as the carrier gets it, or the outcome of an attempt that cannot be made. */
export type Composed = { message: OutboundMessage } | { outcome: Settled };

export const renderMessage = (message: MessageRow, template: string, lead: LeadRow | null): OutgoingText =>
  outgoingText(template, lead && presentLead(lead), message.attachmentUrls.length);

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

  return async ({ attempt, message, template, lead, from }: Draft): Promise<Composed> => {
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
        to: { address: attempt.address, name: message.recipientName },
        text: rendered.text,
        ...(message.subject !== null && { subject: message.subject }),
        attachments: files.attachments,
        callbackUrl: callbackAddress(publicUrl, { name: attempt.carrier }, attempt.lineId),
        ...(attempt.channel === 'email' && {
          unsubscribeUrl: unsubscribeLinks.url({ workspaceId: message.workspaceId, messageId: message.id }),
        }),
      },
    };
  };
}
