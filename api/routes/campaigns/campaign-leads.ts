import { emitLeadEvents } from '#db/commands/contacts/lead-events.ts';
import { z } from 'zod';
import { addLead } from '#db/commands/campaigns/added-lead.ts';
import { planEntry } from '#db/commands/campaigns/campaign-entry.ts';
import { stepTimes, variantOf } from '#db/commands/campaigns/step-messages.ts';
import { requireLines } from '#db/commands/campaigns/campaign-status.ts';
import { type CampaignRow, findCampaign, lockCampaign } from '#db/queries/campaigns/campaigns.ts';
import { requireCustomFields } from '#db/queries/accounts/limits.ts';
import { consentedAmong } from '#db/queries/contacts/consents.ts';
import {
  addLeadsToList,
  findLead,
  insertLeads,
  type LeadRow,
  lockLead,
  presentLead,
} from '#db/queries/contacts/leads.ts';
import { lockList, lockListOrQuickSends } from '#db/queries/contacts/lists.ts';
import { optedOutAmong } from '#db/queries/contacts/opt-outs.ts';
import { suppressedAmong } from '#db/queries/contacts/suppressions.ts';
import { dryRun, type TenantDb } from '#db/connection/transactions.ts';
import { contactOwners } from '#db/queries/accounts/workspace-users.ts';
import { knownCustomFields } from '#db/queries/accounts/limits.ts';
import { needsOf } from '#domain/campaigns/condition.ts';
import {
  allPaths,
  Assumptions,
  NO_FACTS,
  PreviewEvent,
  PreviewPath,
  previewWalk,
} from '#domain/campaigns/preview.ts';
import { conditionsOf } from '#domain/campaigns/walk.ts';
import { factsOf } from '#db/queries/campaigns/facts.ts';
import { addressOn } from '#domain/campaigns/campaign-schedule.ts';
import { Channel } from '#domain/base/channel.ts';
import { consentKey } from '#domain/contacts/consent.ts';
import { Id } from '#domain/base/ids.ts';
import { runInTurns } from '#domain/base/turns.ts';
import { firstSendTime } from '#domain/sending/quiet-hours.ts';
import { DefaultCountryCode, LeadInput, normalizeLead } from '#domain/contacts/lead.ts';
import { type MessageStep, messageSteps } from '#domain/campaigns/step.ts';
import { textsOf } from '#domain/campaigns/step-variants.ts';
import { VariantName } from '#domain/messages/variant-name.ts';
import { outgoingText } from '#domain/messages/outgoing-text.ts';
import {
  renderTemplate,
  TemplateBudget,
  TemplateError,
  type TemplateLead,
} from '#domain/messages/template.ts';
import { campaignWarnings } from '#domain/campaigns/campaign-warnings.ts';
import { Warnings } from '#domain/messages/warnings.ts';
import { dialled } from '#domain/base/contact-key.ts';
import { ApiError, invalid, invalidFields } from '#api/http/errors.ts';
import { perMinute } from '#api/http/rate-limits.ts';
import { workspaceRoute } from '#api/http/route.ts';
import { CampaignParams, campaignNotFound } from './campaigns.ts';
import { leadNotFound } from '../contacts/leads.ts';

const CampaignLeadInput = z
  .object({
    leadId: Id.optional().meta({ description: 'An existing lead. Either `leadId` or `lead` is required.' }),
    lead: LeadInput.optional().meta({
      description: 'A new lead. If the list has a lead with the same email or phone, that lead is used.',
    }),
    defaultCountryCode: DefaultCountryCode.optional(),
  })
  .refine(({ leadId, lead }) => (leadId === undefined) !== (lead === undefined), {
    path: ['leadId'],
    message: 'either leadId or lead is required',
  })
  .meta({ id: 'CampaignLeadInput' });

const CampaignLeadResult = z.object({
  success: z.literal(true),
  leadId: Id,
  campaignId: Id,
  messageCount: z.int(),
  message: z.string(),
});

const StepPreview = z.object({
  stepId: z.string(),
  stepIndex: z.int(),
  messageType: Channel,
  variant: VariantName.nullable().meta({
    description: 'The variant that the lead gets; null: the step has none.',
  }),
  message: z.string(),
  subject: z.string().nullable(),
  variants: z
    .array(
      z.object({ name: VariantName, weight: z.int(), message: z.string(), subject: z.string().nullable() }),
    )
    .meta({ description: 'The text of every variant for this lead; empty if the step has none.' }),
  attachmentUrls: z.array(z.string()),
  address: z.string(),
  scheduledDate: z.iso.datetime(),
  holdReason: z.literal('recipient_quiet_hours').nullable().meta({
    description: 'Set if the quiet hours move the step to `scheduledDate`.',
  }),
  wakingHours: z
    .object({
      zones: z.array(z.string()).meta({ description: 'A message is sent only when all of them allow it.' }),
      start: z.string(),
      end: z.string(),
      law: z.string().nullable().meta({ example: 'US-FL', description: 'The state whose law also applies.' }),
    })
    .nullable()
    .meta({ description: 'The quiet hours that apply to the step; null: none.' }),
  skipReason: z
    .enum(['recipient_opted_out', 'recipient_suppressed', 'no_consent'])
    .nullable()
    .meta({ description: 'Why the step would not be sent; null: it would be.' }),
  fromLineId: Id.nullable(),
  hasConsent: z.boolean().meta({
    description: 'Whether the latest entry of the ledger for this address and channel grants consent.',
  }),
});

export const campaignLeadRoutes = [
  workspaceRoute({
    id: 'addCampaignLead',
    method: 'POST',
    path: '/api/campaigns/{id}/leads',
    tag: 'Campaigns',
    needsSubscription: true,
    summary: "Add a lead to a campaign and to the campaign's list, and schedule the messages of all steps",
    description:
      'If the lead, or another with its address, has already entered, or it has not consented (`requireConsent`), `messageCount` is 0. Until the campaign is started, and while it is paused, its messages wait.',
    limit: perMinute(200),
    idempotent: true,
    params: CampaignParams,
    body: CampaignLeadInput,
    responses: { 200: CampaignLeadResult, 201: CampaignLeadResult },
    errors: ['NOT_FOUND', 'INVALID_STATE', 'NO_ACTIVE_LINE', 'LIMIT_REACHED'],
    async handler({ db, caller, params, body, now, waitingMessages }) {
      waitingMessages.admit(caller.workspace.id);
      const stored = await lockCampaign(db, params.id);
      if (!stored) throw campaignNotFound();
      if (stored.status === 'archived') throw new ApiError('INVALID_STATE', 'The campaign is archived');
      if (stored.status === 'active' || stored.status === 'completed') await requireLines(db, stored);
      const lead = await leadOf(db, stored, body, caller.workspace.country, now);
      const { admitted, unreachable, noConsent, messageCount } = await addLead(db, stored, lead, now);
      const result = { success: true, leadId: lead.id, campaignId: stored.id, messageCount } as const;
      if (admitted === 0)
        return { status: 200, body: { ...result, message: 'The contact is already in this campaign' } };
      if (noConsent > 0)
        return { status: 201, body: { ...result, message: 'The lead is skipped: it has not consented' } };
      if (unreachable > 0)
        throw invalid('leadId', 'the lead has no contact details for any step of the campaign');
      await requireSendTime(db, stored, lead, now);
      return { status: 201, body: { ...result, message: `${messageCount} messages scheduled` } };
    },
  }),

  workspaceRoute({
    id: 'previewCampaign',
    method: 'POST',
    path: '/api/campaigns/{id}/preview',
    tag: 'Campaigns',
    scope: 'read',
    summary:
      'Preview the messages of a lead that enters now: rendered texts, planned times and lines, quiet hours and consent, and where the steps lead; nothing is sent',
    description:
      '`steps` are the messages up to the first decision, for a lead only. `walk` is what happens to the lead, or to one of whom nothing is known, if what is assumed holds, and `paths` are all ways through the steps.',
    openWhenReadOnly: true,
    params: CampaignParams,
    body: z.object({ leadId: Id.optional(), assume: Assumptions.optional() }),
    responses: {
      200: z.object({
        success: z.literal(true),
        campaignId: Id,
        leadId: Id.nullable(),
        steps: z.array(StepPreview),
        walk: z.array(PreviewEvent),
        paths: z.array(PreviewPath).meta({ description: 'At most 500.' }),
        warnings: Warnings,
      }),
    },
    errors: ['NOT_FOUND'],
    async handler({ db, params, body, now }) {
      const campaign = await findCampaign(db, params.id);
      if (!campaign) throw campaignNotFound();
      const paths = allPaths(campaign.steps);
      const warnings = campaignWarnings(campaign.steps, null, await knownCustomFields(db));
      const lead = body.leadId === undefined ? null : await findLead(db, body.leadId);
      if (lead === null && body.leadId !== undefined) throw leadNotFound();
      const { assume = {} } = body;
      if (lead === null) {
        const walk = await runInTurns(
          previewWalk(campaign.steps, NO_FACTS, {
            assume,
            reaches: () => true,
            stopWhen: campaign.stopWhen,
            now,
          }),
        );
        const steps: z.infer<typeof StepPreview>[] = [];
        const shown = { campaignId: campaign.id, leadId: null, steps, walk, paths, warnings };
        return { status: 200, body: { success: true, ...shown } };
      }
      const known = presentLead(lead);
      const walkBudget = new TemplateBudget();
      const textOf = (step: MessageStep, stepId: string): string | null => {
        const variant = variantOf(campaign, stepId, lead.id);
        const template = textsOf(step).find((one) => one.variant === variant)?.body ?? '';
        const sent = outgoingText(template, known, step.attachmentUrls.length, walkBudget);
        return 'text' in sent ? sent.text : null;
      };
      const needs = needsOf([...campaign.stopWhen, ...conditionsOf(campaign.steps)]);
      const facts = await factsOf(db, [{ ...lead, enteredAt: now }], needs, campaign.id);
      const walk = await runInTurns(
        previewWalk(campaign.steps, facts.get(lead.id) ?? NO_FACTS, {
          assume,
          reaches: ({ messageType }) => addressOn(messageType, lead) !== null,
          textOf,
          stopWhen: campaign.stopWhen,
          now,
        }),
      );
      const planned = await dryRun(db, (inner) => planEntry(inner, campaign, [lead], now));
      const budget = new TemplateBudget();
      const timesOf = await stepTimes(db, campaign);
      const consented = await consentedAmong(db, planned);
      const addresses = planned.map(({ address }) => address);
      const optedOut = await optedOutAmong(db, addresses);
      const suppressed = await suppressedAmong(db, addresses);
      const placedSteps = new Map(messageSteps(campaign.steps).map((one) => [one.id, one]));
      const steps = planned.map((plannedStep) => {
        const { stepId, stepIndex, channel, address, at, lineId, variant } = plannedStep;
        const placed = placedSteps.get(stepId);
        const step = placed?.step;
        const texts = (step ? textsOf(step) : []).map(({ body: template, path, subject, ...text }) => ({
          ...text,
          message: render(template, ['steps', ...(placed?.path ?? []), ...path].join('.'), known, budget),
          subject:
            subject &&
            render(subject, ['steps', ...(placed?.path ?? []), 'subject'].join('.'), known, budget),
        }));
        const text = texts.find((one) => one.variant === variant);
        const times = timesOf(plannedStep);
        const sentFrom = firstSendTime(times, at) ?? at;
        const hasConsent = consented.has(consentKey(address, channel));
        const skipReasons = [
          optedOut.has(address) && ('recipient_opted_out' as const),
          suppressed.has(address) && ('recipient_suppressed' as const),
          campaign.requireConsent && !hasConsent && ('no_consent' as const),
        ];
        return {
          stepId,
          stepIndex,
          messageType: channel,
          variant,
          message: text?.message ?? '',
          subject: text?.subject ?? null,
          variants: texts.flatMap(({ variant: name, ...shown }) => (name === null ? [] : { name, ...shown })),
          attachmentUrls: step?.attachmentUrls ?? [],
          address: dialled(address, known.phone),
          scheduledDate: sentFrom.toISOString(),
          holdReason: sentFrom > at ? ('recipient_quiet_hours' as const) : null,
          wakingHours: times.quiet ? { ...times.quiet, zones: [...times.quiet.zones] } : null,
          skipReason: skipReasons.find((reason) => reason !== false) ?? null,
          fromLineId: lineId,
          hasConsent,
        };
      });
      return {
        status: 200,
        body: { success: true, campaignId: campaign.id, leadId: lead.id, steps, walk, paths, warnings },
      };
    },
  }),
];

/** Finds or creates the lead and adds it to the campaign's list, or to Quick Sends if that list was deleted. */
async function leadOf(
  db: TenantDb,
  { listId }: CampaignRow,
  { leadId, lead: input, defaultCountryCode }: z.output<typeof CampaignLeadInput>,
  country: string,
  now: Date,
): Promise<LeadRow> {
  if (leadId !== undefined) {
    // Also keeps a deletion, which cancels the lead's messages, from missing those that are inserted here.
    const known = await lockLead(db, leadId);
    if (!known) throw leadNotFound();
    if (listId !== null && (await lockList(db, listId))) await addLeadsToList(db, [known], listId);
    return known;
  }
  const { lead, problems } = normalizeLead(input ?? {}, { country, callingCode: defaultCountryCode });
  if (problems.length > 0)
    throw invalidFields(problems.map(({ field, message }) => ({ path: `lead.${field}`, message })));
  await requireCustomFields(db, [lead.customFields]);
  const target = await lockListOrQuickSends(db, listId);
  const ownerOf = await contactOwners(db, [lead.contactOwnerEmail]);
  const [saved] = await insertLeads(
    db,
    target,
    [{ ...lead, contactOwnerEmail: ownerOf(lead.contactOwnerEmail) }],
    { source: 'campaign', now },
  );
  const row = saved && (await findLead(db, saved.id));
  if (!row) throw new Error('the lead was not saved');
  if (saved.isNew) await emitLeadEvents(db, 'lead.created', [row], now);
  return row;
}

/** @throws VALIDATION_ERROR if the send window of the campaign never opens while the lead is awake. */
async function requireSendTime(db: TenantDb, campaign: CampaignRow, lead: LeadRow, now: Date): Promise<void> {
  const timesOf = await stepTimes(db, campaign);
  for (const {
    step: { messageType },
  } of messageSteps(campaign.steps)) {
    const address = addressOn(messageType, lead);
    if (address === null) continue;
    const times = timesOf({ lead, address });
    if (firstSendTime(times, now) !== null) continue;
    const { start = '', end = '', zones = [] } = times.quiet ?? {};
    throw invalid(
      'leadId',
      `the send window of the campaign never opens while the lead is awake: the quiet hours allow messages from ${start} to ${end} ${zones.join(', ')}`,
    );
  }
}

/** @throws VALIDATION_ERROR naming the field whose template fails, or is one too many for the request's budget. */
function render(template: string, field: string, lead: TemplateLead, budget: TemplateBudget): string {
  try {
    return renderTemplate(template, lead, budget);
  } catch (error) {
    if (error instanceof TemplateError) throw invalid(field, error.message);
    throw error;
  }
}
