import { NoRows } from '#db/rows.ts';
import { sql } from 'slonik';
import { z } from 'zod';
import type { LinkReader } from '#domain/attachment.ts';
import { Channel } from '#domain/channel.ts';
import type { IntakeContext } from '#domain/message-draft.ts';
import type { MessageInput } from '#domain/message.ts';
import { isVisible } from './leads.ts';
import type { TenantDb } from '#db/transactions.ts';

const LineRef = z.object({ id: z.string(), channel: Channel, usable: z.boolean() });
const LeadRef = z.object({
  id: z.string(),
  name: z.string(),
  phones: z.array(z.string()),
  emails: z.array(z.string()),
});

/** Used to verify attachment URLs; required if requests can have attachments. */
export interface Uploads {
  links: Pick<LinkReader, 'open'>;
  now: Date;
}

/** Loads what a batch of requests refers to, in a constant number of queries. */
export async function loadIntakeContext(
  db: TenantDb,
  inputs: readonly MessageInput[],
  { timezone, country }: { timezone: string; country: string },
  uploads?: Uploads,
): Promise<IntakeContext> {
  const lines = await db.any(sql.type(LineRef)`
    select id, channel, is_active and provisioning_status = 'active' usable
    from lines where workspace_id = ${db.workspaceId}`);
  const leadIds = inputs.flatMap(({ leadId }) => (leadId === undefined ? [] : [leadId]));
  const leads =
    leadIds.length === 0
      ? []
      : await db.any(sql.type(LeadRef)`
          select id, trim(first_name || ' ' || last_name) "name", phones, emails
          from leads
          where workspace_id = ${db.workspaceId} and id = any(${sql.array(leadIds, 'text')}) and ${isVisible(db)}`);
  const needsFallback = inputs.some((input) => input.sendFallbackSmsOnFailed || input.forceFallback);
  return {
    timezone,
    country,
    lines,
    leads: new Map(leads.map((lead) => [lead.id, lead])),
    fallbackConfigured: needsFallback && (await isFallbackConfigured(db)),
    ownAttachments: uploads ? ownAttachments(db.workspaceId, inputs, uploads) : new Set(),
  };
}

/** The signed link contains the workspace, so no query is required. */
function ownAttachments(
  workspaceId: string,
  inputs: readonly MessageInput[],
  { links, now }: Uploads,
): Set<string> {
  const named = inputs.flatMap(({ attachmentUrls }) => attachmentUrls ?? []);
  return new Set(named.filter((url) => links.open(url, now)?.workspaceId === workspaceId));
}

async function isFallbackConfigured(db: TenantDb): Promise<boolean> {
  return db.exists(sql.type(NoRows)`
    select 1 from fallback_configs where workspace_id = ${db.workspaceId} and enabled`);
}
