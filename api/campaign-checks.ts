import { unsendableType } from '#db/commands/campaigns/campaign-status.ts';
import type { CampaignRow } from '#db/queries/campaigns.ts';
import { loadIntakeContext, type Uploads } from '#db/queries/intake.ts';
import { findPool } from '#db/queries/line-pools.ts';
import { findList } from '#db/queries/lists.ts';
import type { TenantDb } from '#db/transactions.ts';
import type { CampaignPatch } from '#domain/campaign.ts';
import { ApiError, invalid, invalidFields } from './http/errors.ts';

/** @throws NOT_FOUND or VALIDATION_ERROR if a campaign refers to anything that is not the workspace's. */
export async function checkCampaign(
  db: TenantDb,
  { listId, eligibleLineIds, poolId, steps = [] }: CampaignPatch,
  workspace: { timezone: string; country: string },
  uploads: Uploads,
): Promise<void> {
  if (listId && !(await findList(db, listId)))
    throw new ApiError('NOT_FOUND', 'listId: no such list in this workspace');
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

/** @throws NO_ACTIVE_LINE if no active line can send one of the steps. */
export async function requireLines(db: TenantDb, campaign: CampaignRow): Promise<void> {
  const type = await unsendableType(db, campaign);
  if (type !== null) throw new ApiError('NO_ACTIVE_LINE', `The workspace has no active line for ${type}`);
}
