import { z } from 'zod';
import { Id, WorkspaceId } from '../base/ids.ts';
import { CRM_FIELDS } from '../messages/message.ts';

type CrmField = (typeof CRM_FIELDS)[number];

/** The message's external CRM ids, at the top level of every event; null if not set. */
const CrmEcho = z.object(
  Object.fromEntries(CRM_FIELDS.map((name) => [name, z.string().nullable()])) as Record<
    CrmField,
    z.ZodNullable<z.ZodString>
  >,
);
export type CrmEcho = z.infer<typeof CrmEcho>;

export const crmEcho = (source: Partial<Record<CrmField, string | null | undefined>>): CrmEcho =>
  Object.fromEntries(CRM_FIELDS.map((name) => [name, source[name] ?? null])) as CrmEcho;

const CampaignRef = z.object({
  campaignId: Id.optional(),
  campaignName: z.string().optional(),
});

/**
 * The fields of every event. An event about something other than a message or a reply adds the id of its subject
 * (`lineId`, the address of a contact) and has no `messageId`. One about a contact must contain their address or lead id:
 * erasing a contact finds their events by it.
 */
export const eventHead = <Name extends string>(event: Name) =>
  z.object({
    event: z.literal(event),
    timestamp: z.iso.datetime().meta({ description: 'When the event happened, UTC.' }),
    workspaceId: WorkspaceId,
  });

/** The fields of every event about a message or a reply; `leadId` and the campaign fields only if known. */
export const eventBase = <Name extends string>(event: Name) =>
  eventHead(event).extend({
    messageId: Id.meta({
      description: 'Deduplicate by (`messageId`, `event`).',
    }),
    leadId: Id.optional(),
    ...CampaignRef.shape,
    ...CrmEcho.shape,
  });
