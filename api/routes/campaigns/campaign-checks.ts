import { type CampaignRow, campaignWindow, findCampaign } from '#db/queries/campaigns/campaigns.ts';
import { loadIntakeContext, type Uploads } from '#db/queries/messages/intake.ts';
import { findWebhook } from '#db/queries/events/webhooks.ts';
import { findPool } from '#db/queries/lines/line-pools.ts';
import { findList } from '#db/queries/contacts/lists.ts';
import { findSegment } from '#db/queries/contacts/segments.ts';
import { requireCustomFields } from '#db/queries/accounts/limits.ts';
import { findInboxMember } from '#db/queries/inbox/inbox-members.ts';
import { workspacePace } from '#db/queries/accounts/workspaces.ts';
import type { TenantDb } from '#db/connection/transactions.ts';
import { durationMs } from '#domain/base/duration.ts';
import { type CampaignStep, type LeadActions, messageSteps, placedSteps } from '#domain/campaigns/step.ts';
import { fieldsAfter, quietPath } from '#domain/campaigns/walk.ts';
import type { CampaignPatch } from '#domain/campaigns/campaign.ts';
import { firstSendTime, lawWithoutTime, wakingHours } from '#domain/sending/quiet-hours.ts';
import { lawName } from '#domain/sending/us-quiet-hours.ts';
import { type QuietUntil, quietUntil } from '#domain/messages/warnings.ts';
import { ROUND_ROBIN } from '#domain/inbox/round-robin.ts';
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
  const messages = messageSteps(steps);
  const inputs = messages.map(({ step: { attachmentUrls } }) => ({ attachmentUrls }));
  const { lines, ownAttachments } = await loadIntakeContext(db, inputs, workspace, uploads);
  const unknown = eligibleLineIds?.find((id) => !lines.some((line) => line.id === id));
  if (unknown !== undefined)
    throw new ApiError('NOT_FOUND', 'eligibleLineIds: no such line in this workspace');
  if (poolId && eligibleLineIds) throw invalid('eligibleLineIds', 'cannot be combined with poolId');
  if (poolId && !(await findPool(db, poolId)))
    throw new ApiError('NOT_FOUND', 'poolId: no such pool in this workspace');
  const issues = messages.flatMap(({ step: { attachmentUrls }, path }) =>
    attachmentUrls.flatMap((url, index) =>
      ownAttachments.has(url)
        ? []
        : {
            path: ['steps', ...path, 'attachmentUrls', index].join('.'),
            message: 'must be an upload of this workspace (POST /api/attachments/upload)',
          },
    ),
  );
  if (issues.length > 0) throw invalidFields(issues);
  await checkActions(db, steps);
}

/** What `do` steps name has to exist. */
async function checkActions(db: TenantDb, steps: readonly CampaignStep[]): Promise<void> {
  for (const { step, path } of placedSteps(steps))
    if (step.kind === 'do') {
      const at = ['steps', ...path].join('.');
      await checkLeadActions(db, step, at);
      if (step.webhook !== undefined && !(await findWebhook(db, step.webhook)))
        throw new ApiError('NOT_FOUND', `${at}.webhook: no such webhook in this workspace`);
    }
}

/** @param at the path of the actions in the request. @throws NOT_FOUND, LIMIT_REACHED */
export async function checkLeadActions(
  db: TenantDb,
  { moveToListId, enterCampaignId, assign, setFields = {} }: LeadActions,
  at: string,
): Promise<void> {
  if (moveToListId !== undefined && !(await findList(db, moveToListId)))
    throw new ApiError('NOT_FOUND', `${at}.moveToListId: no such list in this workspace`);
  if (enterCampaignId !== undefined && !(await findCampaign(db, enterCampaignId)))
    throw new ApiError('NOT_FOUND', `${at}.enterCampaignId: no such campaign in this workspace`);
  if (typeof assign === 'string' && assign !== ROUND_ROBIN && !(await findInboxMember(db, assign)))
    throw new ApiError('NOT_FOUND', `${at}.assign: no such member of this workspace`);
  const { customFields } = fieldsAfter(NO_FIELDS, setFields);
  await requireCustomFields(db, [customFields]);
}

const NO_FIELDS = { customFields: {}, companyName: '', jobTitle: '', notes: '' };

/** The templates of steps, by their paths. */
export const templatesOf = (steps: CampaignPatch['steps'] = []) =>
  messageSteps(steps).flatMap(({ step: { message, subject, smsFallbackMessage, variants = [] }, path }) =>
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
    ).map(([field, template]) => [['steps', ...path, field].join('.'), template] as const),
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
  const [first] = quietPath(campaign.steps);
  return quietUntil(
    { window: campaignWindow(campaign, timezone), quiet: wakingHours(policy, recipient, timezone) },
    new Date(now.getTime() + (first ? durationMs(first.delay) : 0)),
  );
}
