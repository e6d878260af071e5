import { type CampaignRow, campaignWindow } from '#db/queries/campaigns/campaigns.ts';
import { loadIntakeContext, type Uploads } from '#db/queries/messages/intake.ts';
import { findPool } from '#db/queries/lines/line-pools.ts';
import { findList } from '#db/queries/contacts/lists.ts';
import { findSegment } from '#db/queries/contacts/segments.ts';
import { workspacePace } from '#db/queries/accounts/workspaces.ts';
import type { TenantDb } from '#db/connection/transactions.ts';
import { delayMs } from '#domain/campaigns/campaign-schedule.ts';
import type { CampaignPatch } from '#domain/campaigns/campaign.ts';
import { firstSendTime, lawWithoutTime, wakingHours } from '#domain/sending/quiet-hours.ts';
import { lawName } from '#domain/sending/us-quiet-hours.ts';
import { type QuietUntil, quietUntil } from '#domain/messages/warnings.ts';
import { ApiError, invalid, invalidFields } from '#api/http/errors.ts';

/** @throws NOT_FOUND or VALIDATION_ERROR if a campaign refers to an object of another workspace. */
export async function checkCampaign(
  db: TenantDb,
  { listId, segmentId, eligibleLineIds, poolId, steps = [] }: CampaignPatch,
  workspace: { timezone: string; country: string },
  uploads: Uploads,
): Promise<void> {
  if (listId && !(await findList(db, listId)))
    throw new ApiError('NOT_FOUND', 'listId: no such list in this workspace');
  if (listId && segmentId) throw invalid('segmentId', 'cannot be combined with listId');
  if (segmentId && !(await findSegment(db, segmentId)))
    throw new ApiError('NOT_FOUND', 'segmentId: no such segment in this workspace');
  const inputs = steps.map(({ attachmentUrls }) => ({ attachmentUrls }));
  const { lines, ownAttachments } = await loadIntakeContext(db, inputs, workspace, uploads);
  const unknown = eligibleLineIds?.find((id) => !lines.some((line) => line.id === id));
  if (unknown !== undefined)
    throw new ApiError('NOT_FOUND', 'eligibleLineIds: no such line in this workspace');
  if (poolId && eligibleLineIds) throw invalid('eligibleLineIds', 'cannot be combined with poolId');
  if (poolId && !(await findPool(db, poolId)))
    throw new ApiError('NOT_FOUND', 'poolId: no such pool in this workspace');
  const issues = steps.flatMap(({ attachmentUrls }, step) =>
    attachmentUrls.flatMap((url, index) =>
      ownAttachments.has(url)
        ? []
        : {
            path: `steps.${step}.attachmentUrls.${index}`,
            message: 'must be an upload of this workspace (POST /api/attachments/upload)',
          },
    ),
  );
  if (issues.length > 0) throw invalidFields(issues);
}

/** The templates of steps, by their paths. */
export const templatesOf = (steps: CampaignPatch['steps'] = []) =>
  steps.flatMap(({ message, subject, smsFallbackMessage, variants = [] }, index) =>
    (
      [
        ['message', message],
        ['subject', subject],
        ['smsFallbackMessage', smsFallbackMessage],
        ...variants.flatMap((variant, number) => [
          [`variants.${number}.body`, variant.body] as const,
          [`variants.${number}.subject`, variant.subject] as const,
        ]),
      ] as const
    ).map(([field, template]) => [`steps.${index}.${field}`, template] as const),
  );

/**
 * Checks that the send window of a campaign and its quiet hours leave some common time, in the campaign's time zone.
 * @param stored the campaign that the patch changes.
 * @throws VALIDATION_ERROR if it could never send.
 */
export async function requireSendTimes(
  db: TenantDb,
  patch: CampaignPatch,
  stored: CampaignRow | null,
  now: Date,
): Promise<void> {
  const { timezone: workspaceTimezone, quiet } = await workspacePace(db);
  const field = <T>(given: T | null | undefined, kept: T | null | undefined): T | null =>
    given === undefined ? (kept ?? null) : given;
  const timezone = field(patch.timezone, stored?.timezone) ?? workspaceTimezone;
  const window = campaignWindow(
    {
      timezone,
      windowStart: field(patch.sendWindowStart, stored?.windowStart),
      windowEnd: field(patch.sendWindowEnd, stored?.windowEnd),
      windowDays: field(patch.allowedDaysOfWeek, stored?.windowDays),
    },
    workspaceTimezone,
  );
  const own = field(patch.quietHours, stored?.quietHours);
  const without = own && lawWithoutTime(own, now);
  if (without) throw invalid('quietHours.start', `leaves no time that the law of ${lawName(without)} allows`);
  const hours = own ?? (quiet.workspace.appliesTo.includes('campaign') ? quiet.workspace : null);
  if (!window || !hours?.enabled) return;
  const { start, end } = hours;
  if (firstSendTime({ window, quiet: { zones: [timezone], start, end, law: null } }, now) !== null) return;
  throw invalid(
    window.start === undefined && window.end === undefined ? 'allowedDaysOfWeek' : 'sendWindowStart',
    `never opens while recipients are awake: the quiet hours allow messages from ${start} to ${end}`,
  );
}

/** Until when quiet hours postpone the first step of a campaign that starts now, for leads in its own zone; null: they do not. */
export async function quietUntilOfFirstStep(
  db: TenantDb,
  campaign: CampaignRow,
  now: Date,
): Promise<QuietUntil | null> {
  const { timezone, quiet: policy } = await workspacePace(db);
  const zones = [campaign.timezone ?? timezone];
  const recipient = { kind: 'campaign', campaignId: campaign.id, zones, region: null } as const;
  const [first] = campaign.steps;
  return quietUntil(
    { window: campaignWindow(campaign, timezone), quiet: wakingHours(policy, recipient, timezone) },
    new Date(now.getTime() + (first ? delayMs(first.delay) : 0)),
  );
}
