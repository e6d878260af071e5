import { NoRows } from '#db/connection/rows.ts';
import { type CommonQueryMethods, sql } from 'slonik';
import { z } from 'zod';
import type { LinkReader } from '#domain/messages/attachment.ts';
import type { CallerWorkspace } from '#domain/accounts/caller.ts';
import { Channel } from '#domain/base/channel.ts';
import { hasSendWindow, type IntakeContext, namedAddresses } from '#domain/messages/accepted-message.ts';
import type { MessageInput } from '#domain/messages/message.ts';
import { NO_QUIET_POLICY, quietHoursApplyTo } from '#domain/sending/quiet-hours.ts';
import { contactKey } from '#domain/base/contact-key.ts';
import type { SystemTransaction, TenantDb } from '#db/connection/transactions.ts';
import { placeOfRecipient } from '#db/phones/phone-places.ts';
import { inWorkspace } from '../accounts/agency.ts';
import { answerTimes } from './contact-relation.ts';
import { findZonesByAddress, isVisible } from '../contacts/leads.ts';
import { workspacePace } from '../accounts/workspaces.ts';

const LineRef = z.object({ id: z.string(), channel: Channel, usable: z.boolean() });
const WorkspaceLineRef = LineRef.extend({ workspaceId: z.string() });
export type WorkspaceLineRef = z.infer<typeof WorkspaceLineRef>;
const LeadRef = z.object({
  id: z.string(),
  name: z.string(),
  phones: z.array(z.string()),
  emails: z.array(z.string()),
  timezone: z.string().nullable(),
});

/** Used to verify attachment URLs; required if requests can have attachments. */
export interface Uploads {
  links: Pick<LinkReader, 'open'>;
  now: Date;
}

type Workspace = Pick<CallerWorkspace, 'timezone' | 'country'>;

/** Loads what requests of one workspace refer to, and all its lines, in a constant number of queries. */
export async function loadIntakeContext(
  db: TenantDb,
  inputs: readonly MessageInput[],
  workspace: Workspace,
  uploads?: Uploads,
): Promise<IntakeContext> {
  const lines = await db.any(sql.type(LineRef)`
    select id, channel, ${IS_USABLE} usable from lines where workspace_id = ${db.workspaceId}`);
  const pools = await neededPools(db, [db.workspaceId], inputs);
  const { quiet } = await workspacePace(db);
  return {
    ...(await loadReferences(db, inputs, workspace, uploads)),
    quiet,
    zones: quietHoursApplyTo(quiet, 'message') ? await namedZones(db, inputs, workspace) : new Map(),
    answersUntil: new Map(),
    lines,
    pools: pools.get(db.workspaceId) ?? new Map(),
  };
}

const IS_USABLE = sql.fragment`is_active and provisioning_status = 'active'`;

/**
 * Loads what requests of several workspaces refer to, by workspace. Of the lines, it loads those that are named, and one of each
 * channel that can be chosen, because a workspace may have thousands.
 */
export async function loadIntakeContexts(
  db: SystemTransaction,
  requests: readonly { workspace: CallerWorkspace; input: MessageInput }[],
  uploads: Uploads,
): Promise<Map<string, IntakeContext>> {
  const workspaces = new Map(requests.map(({ workspace }) => [workspace.id, workspace]));
  const requestsOf = Map.groupBy(requests, ({ workspace }) => workspace.id);
  const lines = await neededLines(
    db,
    [...workspaces.keys()],
    requests.flatMap(({ input: { fromLineId, eligibleLineIds = [] } }) =>
      fromLineId === undefined ? eligibleLineIds : [fromLineId],
    ),
  );
  const pools = await neededPools(
    db,
    [...workspaces.keys()],
    requests.map(({ input }) => input),
  );
  const contexts = new Map<string, IntakeContext>();
  for (const [workspaceId, workspace] of workspaces) {
    const inputs = (requestsOf.get(workspaceId) ?? []).map(({ input }) => input);
    const own = inWorkspace(db, workspace);
    const needsQuiet = workspace.keepsDripsQuiet || inputs.some(hasSendWindow);
    const quiet = needsQuiet ? (await workspacePace(own)).quiet : NO_QUIET_POLICY;
    const isQuiet = quietHoursApplyTo(quiet, 'drip');
    const references = await loadReferences(own, inputs, workspace, uploads);
    contexts.set(workspaceId, {
      ...references,
      quiet,
      zones: isQuiet ? await namedZones(own, inputs, workspace) : new Map(),
      answersUntil: isQuiet
        ? await answerTimes(own, recipients(inputs, references.leads, workspace))
        : new Map(),
      lines: lines.get(workspaceId) ?? [],
      pools: pools.get(workspaceId) ?? new Map(),
    });
  }
  return contexts;
}

/** The context of plain drips (`isPlainDrip`), which refer to nothing. */
export const plainContext = (
  { timezone, country }: Workspace,
  lines: readonly WorkspaceLineRef[],
): IntakeContext => ({
  timezone,
  country,
  lines,
  quiet: NO_QUIET_POLICY,
  placeOf: placeOfRecipient,
  leads: new Map(),
  zones: new Map(),
  answersUntil: new Map(),
  pools: new Map(),
  fallbackConfigured: false,
  ownAttachments: new Set(),
});

/** The named lines of each workspace, and one line of each channel that can be chosen. */
export async function neededLines(
  db: CommonQueryMethods,
  workspaceIds: readonly string[],
  named: readonly string[],
): Promise<Map<string, WorkspaceLineRef[]>> {
  const isOfThese = sql.fragment`workspace_id = any(${sql.array(workspaceIds, 'text')})`;
  const lines = await db.any(sql.type(WorkspaceLineRef)`
    select workspace_id, min(id) id, channel, true usable from lines
    where ${isOfThese} and ${IS_USABLE} group by workspace_id, channel
    union all
    select workspace_id, id, channel, ${IS_USABLE} from lines
    where ${isOfThese} and id = any(${sql.array(named, 'text')})`);
  return Map.groupBy(lines, ({ workspaceId }) => workspaceId);
}

const PoolRef = z.object({ workspaceId: z.string(), id: z.string(), channels: z.array(Channel) });

/** The pools that requests name, by workspace and id, with the channels of their usable lines. */
async function neededPools(
  db: CommonQueryMethods,
  workspaceIds: string[],
  inputs: readonly MessageInput[],
): Promise<Map<string, Map<string, readonly Channel[]>>> {
  const named = [...new Set(inputs.flatMap(({ poolId }) => poolId ?? []))];
  if (named.length === 0) return new Map();
  const pools = await db.any(sql.type(PoolRef)`
    select p.workspace_id, p.id, array(
      select distinct l.channel from pool_lines pl join lines l on l.workspace_id = pl.workspace_id and l.id = pl.line_id
      where pl.workspace_id = p.workspace_id and pl.pool_id = p.id and ${IS_USABLE}
    ) channels
    from pools p
    where p.workspace_id = any(${sql.array(workspaceIds, 'text')}) and p.id = any(${sql.array(named, 'text')})`);
  return new Map(
    [...Map.groupBy(pools, ({ workspaceId }) => workspaceId)].map(([workspaceId, those]) => [
      workspaceId,
      new Map(those.map(({ id, channels }) => [id, channels])),
    ]),
  );
}

async function loadReferences(
  db: TenantDb,
  inputs: readonly MessageInput[],
  { timezone, country }: Workspace,
  uploads?: Uploads,
): Promise<Omit<IntakeContext, 'quiet' | 'zones' | 'answersUntil' | 'lines' | 'pools'>> {
  const leadIds = inputs.flatMap(({ leadId }) => (leadId === undefined ? [] : [leadId]));
  const leads =
    leadIds.length === 0
      ? []
      : await db.any(sql.type(LeadRef)`
          select id, trim(first_name || ' ' || last_name) "name", phones, emails, timezone
          from leads
          where workspace_id = ${db.workspaceId} and id = any(${sql.array(leadIds, 'text')}) and ${isVisible(db)}`);
  const needsFallback = inputs.some((input) => input.sendFallbackSmsOnFailed || input.forceFallback);
  return {
    timezone,
    country,
    placeOf: placeOfRecipient,
    leads: new Map(leads.map((lead) => [lead.id, lead])),
    fallbackConfigured: needsFallback && (await isFallbackConfigured(db)),
    ownAttachments: uploads ? ownAttachments(db.workspaceId, inputs, uploads) : new Set(),
  };
}

/** The time zones of the leads whom requests without `leadId` name, by address. */
const namedZones = (
  db: TenantDb,
  inputs: readonly MessageInput[],
  { country }: Workspace,
): Promise<Map<string, string>> =>
  findZonesByAddress(
    db,
    inputs.flatMap((input) => (input.leadId === undefined ? namedAddresses(input, country) : [])),
  );

/** The addresses to which requests may send. */
const recipients = (
  inputs: readonly MessageInput[],
  leads: IntakeContext['leads'],
  { country }: Workspace,
): Set<string> =>
  new Set([
    ...inputs.flatMap((input) => namedAddresses(input, country)),
    ...[...leads.values()].flatMap(({ phones, emails }) => [
      ...phones.slice(0, 1).map(contactKey),
      ...emails.slice(0, 1),
    ]),
  ]);

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
