import { z } from 'zod';
import { shownDryRun, startDryRun } from '#db/queries/drafts/autopilot-dry-runs.ts';
import { findKnowledgeBase } from '#db/queries/drafts/knowledge-base.ts';
import { wake } from '#db/wakes/wakes.ts';
import {
  AutopilotDryRun,
  AutopilotDryRunInput,
  DRY_RUN_CASES,
  DRY_RUN_DAYS,
} from '#domain/drafts/autopilot-dry-run.ts';
import { ApiError } from '#api/http/errors.ts';
import { workspaceRoute } from '#api/http/route.ts';
import { autopilotDryRunId } from '#workflows/protocol/workflow-ids.ts';

const OneDryRun = z.object({
  success: z.literal(true),
  dryRun: AutopilotDryRun.nullable().meta({ description: 'Null: there was none.' }),
});

export const autopilotDryRunRoutes = [
  workspaceRoute({
    id: 'startAutopilotDryRun',
    method: 'POST',
    path: '/api/knowledge-base/dry-run',
    tag: 'AI drafts',
    summary: 'Try the autopilot over the past conversations of the workspace',
    description: `Before you turn it on: the copilot answers what people answered in the last ${DRY_RUN_DAYS} days, with the saved instructions and documents, the latest of up to ${DRY_RUN_CASES} contacts. Sends nothing and changes no conversation; each of them costs one call of the model, of the workspace's budget. Replaces the last dry run; \`409 INVALID_STATE\` while that is running. Read the outcome with \`GET\`.`,
    body: AutopilotDryRunInput,
    responses: { 202: OneDryRun },
    errors: ['INVALID_STATE'],
    async handler({ db, body, now }) {
      const limits = body.autopilot ?? (await findKnowledgeBase(db)).autopilot;
      if (!(await startDryRun(db, limits, now)))
        throw new ApiError('INVALID_STATE', 'A dry run is running: wait until it is done');
      wake(db, autopilotDryRunId(db.workspaceId), now, 'requested');
      return { status: 202, body: { success: true, dryRun: await shownDryRun(db) } };
    },
  }),

  workspaceRoute({
    id: 'getAutopilotDryRun',
    method: 'GET',
    path: '/api/knowledge-base/dry-run',
    tag: 'AI drafts',
    summary: 'Get the last dry run of the autopilot',
    description:
      'What would have been sent, what would have waited for a person and why, and what people answered. Judged as if it were the first answer of the day and of the conversation. Kept for 30 days.',
    responses: { 200: OneDryRun },
    async handler({ db }) {
      return { status: 200, body: { success: true, dryRun: await shownDryRun(db) } };
    },
  }),
];
