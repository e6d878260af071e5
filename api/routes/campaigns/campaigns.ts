import { z } from 'zod';
import {
  canTake,
  changeCampaignStatus,
  deleteCampaign,
  requireLines,
} from '#db/commands/campaigns/campaign-status.ts';
import {
  campaignProgress,
  type CampaignRow,
  findCampaign,
  hasEntered,
  insertCampaign,
  listCampaigns,
  lockCampaign,
  presentCampaign,
  updateCampaign,
} from '#db/queries/campaigns/campaigns.ts';
import { changesBetween, problemOfEdit, StepChanges } from '#domain/campaigns/step-edits.ts';
import { reviseLater } from '#db/commands/campaigns/revisions.ts';
import { wake } from '#db/wakes/wakes.ts';
import { campaignWorkflowId } from '#workflows/protocol/workflow-ids.ts';
import { campaignWaits } from '#db/queries/campaigns/campaign-waits.ts';
import { personalizationProgress } from '#db/commands/campaigns/personalizations.ts';
import {
  Campaign,
  CampaignInput,
  CampaignPatch,
  CampaignProgress,
  CampaignStatus,
} from '#domain/campaigns/campaign.ts';
import { LeadWait } from '#domain/campaigns/campaign-waits.ts';
import { LimitReached, MAX_CAMPAIGN_VERSIONS } from '#domain/accounts/limits.ts';
import { knownCustomFields, requireRoomForMessages } from '#db/queries/accounts/limits.ts';
import { requireSending } from '#db/queries/accounts/writable.ts';
import { CampaignStep, messageSteps } from '#domain/campaigns/step.ts';
import { Id, UserId } from '#domain/base/ids.ts';
import { listVersions } from '#db/queries/campaigns/versions.ts';
import type { TenantDb } from '#db/connection/transactions.ts';
import { campaignWarnings } from '#domain/campaigns/campaign-warnings.ts';
import { Warnings } from '#domain/messages/warnings.ts';
import { PersonalizationProgress } from '#domain/campaigns/personalization.ts';
import { checkCampaign, quietUntilOfFirstStep, requireSendTimes, templatesOf } from './campaign-checks.ts';
import { requireKnownFields, Strictness } from '../messages/known-fields.ts';
import { ApiError } from '#api/http/errors.ts';
import { NextCursor, page, PageQuery, wholeNumber } from '#api/http/page.ts';
import { perMinute } from '#api/http/rate-limits.ts';
import { workspaceRoute } from '#api/http/route.ts';
import { Search } from '#domain/base/search.ts';

export const CampaignParams = z.object({ id: Id });

const OneCampaign = z.object({ success: z.literal(true), campaign: Campaign });

export const campaignNotFound = (): ApiError => new ApiError('NOT_FOUND', 'Campaign not found');

const ACTIONS = [
  { action: 'start', recorded: 'campaign.started', summary: 'Start a campaign; the leads of its list enter' },
  {
    action: 'pause',
    recorded: 'campaign.paused',
    summary: 'Pause a campaign; its messages wait and keep their order',
  },
  { action: 'resume', recorded: 'campaign.resumed', summary: 'Resume a paused campaign' },
  {
    action: 'archive',
    recorded: 'campaign.archived',
    summary: 'Archive a campaign and cancel its unsent messages',
  },
] as const;

const campaignActionRoutes = ACTIONS.map(({ action, recorded, summary }) =>
  workspaceRoute({
    id: `${action}Campaign`,
    method: 'POST',
    path: `/api/campaigns/{id}/${action}`,
    tag: 'Campaigns',
    summary,
    needsSubscription: action === 'start' || action === 'resume',
    params: CampaignParams,
    query: Strictness,
    responses: { 200: OneCampaign },
    errors: [
      'NOT_FOUND',
      'INVALID_STATE',
      ...(action === 'start' ? (['NO_ACTIVE_LINE', 'LIMIT_REACHED'] as const) : []),
    ],
    audit: { action: recorded, target: 'campaign' },
    async handler({ db, params, query, now }) {
      const row = await lockCampaign(db, params.id);
      if (!row) throw campaignNotFound();
      if (action === 'start' && canTake(action, row.status) && query.refuseUnknownFields === 'true')
        await requireKnownFields(db, templatesOf(row.steps));
      const campaign = await changeCampaignStatus(db, row, action, now);
      return { status: 200, body: { success: true, campaign: presentCampaign(campaign) } };
    },
  }),
);

/** @throws Refusal, LimitReached if what an edit adds cannot be sent, or is too much. */
export async function requireRoomForEdit(
  db: TenantDb,
  before: CampaignRow,
  after: CampaignRow,
): Promise<void> {
  const known = messageSteps(before.steps);
  await requireLines(
    db,
    after,
    known.map(({ step }) => step.messageType),
  );
  const added = messageSteps(after.steps).length - known.length;
  if (added <= 0) return;
  const { running } = await campaignProgress(db, before);
  await requireRoomForMessages(db, running * added);
}

const CampaignVersion = z
  .object({
    version: z.int(),
    steps: z.array(CampaignStep),
    changes: StepChanges.nullable().meta({ description: 'Since the version before; null: it is the first.' }),
    createdByUserId: UserId.nullable(),
    createdAt: z.iso.datetime(),
  })
  .meta({ id: 'CampaignVersion' });

export const campaignRoutes = [
  workspaceRoute({
    id: 'createCampaign',
    method: 'POST',
    path: '/api/campaigns',
    tag: 'Campaigns',
    summary: 'Create a campaign, and start it if `start` is true',
    description:
      "A step's `delay` counts from the previous step; for the first step, from the time at which the lead enters the campaign. Steps are Liquid templates, rendered when they are sent.",
    limit: perMinute(200),
    idempotent: true,
    adds: 'campaigns',
    query: Strictness,
    body: CampaignInput,
    responses: { 201: OneCampaign.extend({ warnings: Warnings }) },
    errors: ['NOT_FOUND', 'NO_ACTIVE_LINE', 'SUBSCRIPTION_REQUIRED', 'LIMIT_REACHED'],
    audit: {
      action: 'campaign.created',
      target: 'campaign',
      targets: ({ answer }) => [{ id: answer.campaign._id }],
      changes: ['name', 'start'],
    },
    async handler({ db, caller, query, body, now, links }) {
      if (query.refuseUnknownFields === 'true') await requireKnownFields(db, templatesOf(body.steps));
      if (body.start) await requireSending(db);
      await checkCampaign(db, body, caller.workspace, { links, now });
      await requireSendTimes(db, body, null, now);
      const made = await insertCampaign(db, body, caller.userId, now);
      const quiet = body.start ? await quietUntilOfFirstStep(db, made, now) : null;
      const warnings = campaignWarnings(made.steps, quiet, await knownCustomFields(db));
      if (!body.start)
        return { status: 201, body: { success: true, campaign: presentCampaign(made), warnings } };
      const campaign = await changeCampaignStatus(db, made, 'start', now);
      return { status: 201, body: { success: true, campaign: presentCampaign(campaign), warnings } };
    },
  }),

  workspaceRoute({
    id: 'listCampaigns',
    method: 'GET',
    path: '/api/campaigns',
    tag: 'Campaigns',
    summary: 'List campaigns, newest first',
    query: PageQuery.extend({ status: CampaignStatus.optional(), search: Search }),
    responses: {
      200: z.object({ success: z.literal(true), campaigns: z.array(Campaign), nextCursor: NextCursor }),
    },
    async handler({ db, query: { limit, cursor, ...filter } }) {
      const { items, nextCursor } = page(
        await listCampaigns(db, filter, { limit: limit + 1, cursor }),
        limit,
      );
      return { status: 200, body: { success: true, campaigns: items.map(presentCampaign), nextCursor } };
    },
  }),

  workspaceRoute({
    id: 'getCampaign',
    method: 'GET',
    path: '/api/campaigns/{id}',
    tag: 'Campaigns',
    summary: 'Get a campaign and its progress',
    params: CampaignParams,
    responses: {
      200: OneCampaign.extend({
        progress: CampaignProgress,
        waiting: z.array(LeadWait).meta({
          description: 'What the leads with remaining steps wait for, most leads first.',
        }),
        personalization: PersonalizationProgress.nullable().meta({
          description: 'null if `needsAiPersonalization` is false.',
        }),
      }),
    },
    errors: ['NOT_FOUND'],
    async handler({ db, params, now }) {
      const row = await findCampaign(db, params.id);
      if (!row) throw campaignNotFound();
      const progress = await campaignProgress(db, row);
      const waiting = progress.running > 0 ? (await campaignWaits(db, row, now)).waits : [];
      const personalization = row.needsAiPersonalization ? await personalizationProgress(db, row.id) : null;
      return {
        status: 200,
        body: { success: true, campaign: presentCampaign(row), progress, waiting, personalization },
      };
    },
  }),

  workspaceRoute({
    id: 'updateCampaign',
    method: 'PATCH',
    path: '/api/campaigns/{id}',
    tag: 'Campaigns',
    summary:
      'Update a campaign; once a lead has entered, only its name, description, deadline and list, and once it has started, its name, description, deadline and steps',
    description:
      'Steps of a campaign that has started are known by their ids: they can change, move, be added and be removed. That makes the next `version`. Whoever has not got a changed message gets the new one, and who waits at a step is judged by it; what is ahead of a lead stays ahead, what it has passed stays behind, and nobody gets a step twice. Until what waits is up to date, nothing of the campaign is sent. A changed delay counts for whoever has not got the message before.',
    params: CampaignParams,
    query: Strictness,
    body: CampaignPatch,
    responses: { 200: OneCampaign.extend({ warnings: Warnings }) },
    errors: ['NOT_FOUND', 'INVALID_STATE', 'CONFLICT', 'NO_ACTIVE_LINE', 'LIMIT_REACHED'],
    audit: { action: 'campaign.updated', target: 'campaign', changes: ['name', 'steps'] },
    async handler({ db, caller, params, query, body, now, links }) {
      if (query.refuseUnknownFields === 'true') await requireKnownFields(db, templatesOf(body.steps));
      const row = await lockCampaign(db, params.id);
      if (!row) throw campaignNotFound();
      const { name: _, description: __, version, finishBy, listId, segmentId, audience, ...sequence } = body;
      if (version !== undefined && version !== row.version)
        throw new ApiError('CONFLICT', `The steps have changed: this is version ${row.version}`);
      const changesAudience = [listId, segmentId, audience].some((value) => value !== undefined);
      const isEdit = body.steps !== undefined && (row.status === 'active' || row.status === 'paused');
      const changesSequence = Object.entries(sequence).some(
        ([field, value]) => value !== undefined && !(isEdit && field === 'steps'),
      );
      if (row.status !== 'draft' && (changesSequence || changesAudience))
        throw new ApiError(
          'INVALID_STATE',
          `Only name, description, finishBy and, while it runs, steps of a campaign that is ${row.status} can be changed`,
        );
      if (changesSequence && (await hasEntered(db, row.id)))
        throw new ApiError(
          'INVALID_STATE',
          'The campaign already has messages: only name, description, finishBy and its list can be changed',
        );
      const problem = isEdit ? problemOfEdit(row.steps, body.steps ?? []) : null;
      if (problem !== null) throw new ApiError('INVALID_STATE', `steps ${problem}`);
      await checkCampaign(db, body, caller.workspace, { links, now });
      if (changesSequence) await requireSendTimes(db, body, row, now);
      const updated = await updateCampaign(db, row.id, body, now);
      if (isEdit && updated) {
        if (row.version >= MAX_CAMPAIGN_VERSIONS) throw new LimitReached('campaignVersions');
        await requireRoomForEdit(db, row, updated);
        await reviseLater(db, row, updated, { userId: caller.userId, now });
      } else if (finishBy !== undefined) wake(db, campaignWorkflowId(row.id), now, 'progressDue');
      const changed = await findCampaign(db, row.id);
      if (!changed) throw campaignNotFound();
      const warnings = campaignWarnings(changed.steps, null, await knownCustomFields(db));
      return { status: 200, body: { success: true, campaign: presentCampaign(changed), warnings } };
    },
  }),

  workspaceRoute({
    id: 'listCampaignVersions',
    method: 'GET',
    path: '/api/campaigns/{id}/versions',
    tag: 'Campaigns',
    summary: 'List the versions of the steps of a campaign that was edited while it ran, newest first',
    description: 'Empty for a campaign that was never edited while it ran.',
    params: CampaignParams,
    query: PageQuery.extend({
      cursor: wholeNumber(1, 2_147_483_647, 2_147_483_647).meta({
        description: '`nextCursor` of the previous page.',
      }),
    }),
    responses: {
      200: z.object({
        success: z.literal(true),
        versions: z.array(CampaignVersion),
        nextCursor: NextCursor,
      }),
    },
    errors: ['NOT_FOUND'],
    async handler({ db, params, query: { limit, cursor } }) {
      if (!(await findCampaign(db, params.id))) throw campaignNotFound();
      const rows = await listVersions(db, params.id, { limit: limit + 1, before: cursor });
      const versions = rows.slice(0, limit).map(({ version, steps, createdByUserId, createdAt }, index) => {
        const before = rows[index + 1];
        return {
          version,
          steps,
          changes: before ? changesBetween(before.steps, steps) : null,
          createdByUserId,
          createdAt: createdAt.toISOString(),
        };
      });
      const nextCursor = rows.length > limit ? String(versions.at(-1)?.version) : null;
      return { status: 200, body: { success: true, versions, nextCursor } };
    },
  }),

  workspaceRoute({
    id: 'deleteCampaign',
    method: 'DELETE',
    path: '/api/campaigns/{id}',
    tag: 'Campaigns',
    summary: 'Delete a campaign and cancel its unsent messages',
    params: CampaignParams,
    responses: { 200: z.object({ success: z.literal(true) }) },
    errors: ['NOT_FOUND'],
    audit: { action: 'campaign.deleted', target: 'campaign' },
    async handler({ db, params, now }) {
      const row = await lockCampaign(db, params.id);
      if (!row) throw campaignNotFound();
      await deleteCampaign(db, row.id, now);
      return { status: 200, body: { success: true } };
    },
  }),

  ...campaignActionRoutes,
];
