import type { CampaignRow } from '#db/queries/campaigns.ts';
import { loadIntakeContext, type Uploads } from '#db/queries/intake.ts';
import { usableLines } from '#db/queries/lines.ts';
import { findList } from '#db/queries/lists.ts';
import type { TenantDb } from '#db/pool.ts';
import type { CampaignPatch, CampaignStep } from '#domain/campaign.ts';
import { CARRYING_CHANNELS } from '#domain/message-draft.ts';
import { renderTemplate } from '#domain/template.ts';
import { ApiError, invalidFields, type Issue } from './http/errors.ts';

/** @throws when a campaign names what the workspace does not have, or a step could never be rendered. */
export async function checkCampaign(
  db: TenantDb,
  { listId, eligibleLineIds, steps = [] }: CampaignPatch,
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
  const issues = steps.flatMap((step, index) => stepIssues(step, `steps.${index}`, ownAttachments));
  if (issues.length > 0) throw invalidFields(issues);
}

function stepIssues(step: CampaignStep, path: string, ownAttachments: ReadonlySet<string>): Issue[] {
  const issues: Issue[] = [];
  try {
    renderTemplate(step.message, null);
  } catch {
    issues.push({ path: `${path}.message`, message: 'is not a valid Liquid template' });
  }
  step.attachmentUrls.forEach((url, index) => {
    if (ownAttachments.has(url)) return;
    issues.push({
      path: `${path}.attachmentUrls.${index}`,
      message: 'must be an upload of this workspace (POST /api/attachments/upload)',
    });
  });
  return issues;
}

/** @throws NO_ACTIVE_LINE when no active line could carry one of the steps. */
export async function requireLines(db: TenantDb, { steps, eligibleLineIds }: CampaignRow): Promise<void> {
  const lines = (await usableLines(db)).filter(({ id }) => eligibleLineIds?.includes(id) ?? true);
  const stranded = steps.find(
    ({ messageType }) => !lines.some(({ channel }) => CARRYING_CHANNELS[messageType].includes(channel)),
  );
  if (stranded)
    throw new ApiError('NO_ACTIVE_LINE', `The workspace has no active line for ${stranded.messageType}`);
}
