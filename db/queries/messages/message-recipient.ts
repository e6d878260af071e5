import { z } from 'zod';
import { DRIP_SOURCE } from '#domain/messages/accepted-message.ts';
import type { Recipient } from '#domain/sending/quiet-hours.ts';

/** The columns of a message from which its quiet hours follow. */
export const MessageRecipient = z.object({
  source: z.string(),
  campaignId: z.string().nullable(),
  recipientZones: z.array(z.string()).nullable(),
  recipientRegion: z.string().nullable(),
});

export function recipientOf({
  source,
  campaignId,
  recipientZones,
  recipientRegion,
}: z.infer<typeof MessageRecipient>): Recipient {
  const kind = campaignId !== null ? 'campaign' : source === DRIP_SOURCE ? 'drip' : 'message';
  return { kind, campaignId, zones: recipientZones, region: recipientRegion };
}
