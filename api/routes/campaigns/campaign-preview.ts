import { z } from 'zod';
import { planEntry } from '#db/commands/campaigns/campaign-entry.ts';
import { type StepMessage, stepTimes, variantOf } from '#db/commands/campaigns/step-messages.ts';
import { type CampaignRow, findCampaign, replyRule } from '#db/queries/campaigns/campaigns.ts';
import { factsOf } from '#db/queries/campaigns/facts.ts';
import { consentedAmong } from '#db/queries/contacts/consents.ts';
import { findLead, type LeadRow, presentLead } from '#db/queries/contacts/leads.ts';
import { optedOutAmong } from '#db/queries/contacts/opt-outs.ts';
import { suppressedAmong } from '#db/queries/contacts/suppressions.ts';
import { knownCustomFields } from '#db/queries/accounts/limits.ts';
import { dryRun, type TenantDb } from '#db/connection/transactions.ts';
import { addressOn } from '#domain/campaigns/campaign-schedule.ts';
import { campaignWarnings } from '#domain/campaigns/campaign-warnings.ts';
import { type Facts, needsOf } from '#domain/campaigns/judge.ts';
import {
  allPaths,
  Assumptions,
  NO_FACTS,
  PreviewEvent,
  PreviewPath,
  previewWalk,
} from '#domain/campaigns/preview.ts';
import { type MessageStep, messageSteps, type Placed } from '#domain/campaigns/step.ts';
import { textsOf } from '#domain/campaigns/step-variants.ts';
import { conditionsOf } from '#domain/campaigns/walk.ts';
import { Channel } from '#domain/base/channel.ts';
import { dialled } from '#domain/base/contact-key.ts';
import { Id } from '#domain/base/ids.ts';
import { runInTurns } from '#domain/base/turns.ts';
import { consentKey } from '#domain/contacts/consent.ts';
import { renderedText } from '#domain/messages/outgoing-text.ts';
import {
  renderTemplate,
  TemplateBudget,
  TemplateError,
  type TemplateLead,
} from '#domain/messages/template.ts';
import { VariantName } from '#domain/messages/variant-name.ts';
import { Warnings } from '#domain/messages/warnings.ts';
import { firstSendTime } from '#domain/sending/quiet-hours.ts';
import { invalid } from '#api/http/errors.ts';
import { workspaceRoute } from '#api/http/route.ts';
import { CampaignParams, campaignNotFound } from './campaigns.ts';
import { leadNotFound } from '../contacts/leads.ts';

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

export const previewCampaign = workspaceRoute({
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
  async handler({ db, params, body: { leadId, assume = {} }, now }) {
    const campaign = await findCampaign(db, params.id);
    if (!campaign) throw campaignNotFound();
    const lead = leadId === undefined ? null : await findLead(db, leadId);
    if (lead === null && leadId !== undefined) throw leadNotFound();
    const { steps: tree, stopWhen } = campaign;
    const texts = lead && textsFor(campaign, lead);
    const steps = lead && texts ? await previewSteps(db, campaign, lead, texts, now) : [];
    const walk = await runInTurns(
      previewWalk(tree, lead ? await knownFacts(db, campaign, lead, now) : NO_FACTS, {
        assume,
        reaches: ({ messageType }) => lead === null || addressOn(messageType, lead) !== null,
        ...(texts && { textOf: texts.toSend }),
        stopWhen,
        onReply: replyRule(campaign),
        now,
      }),
    );
    const warnings = campaignWarnings(tree, null, await knownCustomFields(db));
    const ids = { campaignId: campaign.id, leadId: lead?.id ?? null };
    return { status: 200, body: { success: true, ...ids, steps, walk, paths: allPaths(tree), warnings } };
  },
});

async function knownFacts(
  db: TenantDb,
  { id, steps, stopWhen }: CampaignRow,
  lead: LeadRow,
  now: Date,
): Promise<Facts> {
  const needs = needsOf([...stopWhen, ...conditionsOf(steps)]);
  const facts = await factsOf(db, [{ ...lead, enteredAt: now }], needs, id);
  return facts.get(lead.id) ?? NO_FACTS;
}

interface LeadTexts {
  /** All variants of a step. @throws VALIDATION_ERROR naming the field whose template fails, or is one too many for the budget. */
  ofStep(stepId: string): StepText[];
  /** What the lead would get; null: it cannot be rendered. */
  toSend(step: MessageStep, stepId: string): string | null;
}

interface StepText {
  variant: VariantName | null;
  weight: number;
  message: string;
  subject: string | null;
}

/** The texts of a campaign for a lead: each is rendered once, and all within one budget. */
function textsFor(campaign: CampaignRow, lead: LeadRow): LeadTexts {
  const known: TemplateLead = presentLead(lead);
  const budget = new TemplateBudget();
  const rendered = new Map<string, string>();
  const placed = new Map(messageSteps(campaign.steps).map((one) => [one.id, one]));
  const fieldOf = ({ path }: Placed<MessageStep>, ...inner: (string | number)[]): string =>
    ['steps', ...path, ...inner].join('.');

  function render(template: string, field: string): string {
    // The variants of a step may have subjects of their own.
    const key = `${field} ${template}`;
    const text = rendered.get(key) ?? renderTemplate(template, known, budget);
    rendered.set(key, text);
    return text;
  }
  function renderOrRefuse(template: string, field: string): string {
    try {
      return render(template, field);
    } catch (error) {
      if (error instanceof TemplateError) throw invalid(field, error.message);
      throw error;
    }
  }

  return {
    ofStep(stepId) {
      const step = placed.get(stepId);
      if (!step) return [];
      return textsOf(step.step).map(({ variant, weight, body, path, subject }) => ({
        variant,
        weight,
        message: renderOrRefuse(body, fieldOf(step, ...path)),
        subject: subject && renderOrRefuse(subject, fieldOf(step, 'subject')),
      }));
    },
    toSend({ attachmentUrls }, stepId) {
      const step = placed.get(stepId);
      const variant = variantOf(campaign, stepId, lead.id);
      const text = step && textsOf(step.step).find((one) => one.variant === variant);
      if (!text) return null;
      const sent = renderedText(() => render(text.body, fieldOf(step, ...text.path)), attachmentUrls.length);
      return 'text' in sent ? sent.text : null;
    },
  };
}

/** The messages up to the first decision. */
async function previewSteps(
  db: TenantDb,
  campaign: CampaignRow,
  lead: LeadRow,
  texts: LeadTexts,
  now: Date,
): Promise<z.infer<typeof StepPreview>[]> {
  const planned = await dryRun(db, (inner) => planEntry(inner, campaign, [lead], now));
  const timesOf = await stepTimes(db, campaign);
  const refusals = await refusalsOf(db, campaign, planned);
  const files = new Map(messageSteps(campaign.steps).map(({ id, step }) => [id, step.attachmentUrls]));
  const { phone } = presentLead(lead);
  return planned.map((message) => {
    const { stepId, stepIndex, channel, address, at, lineId, variant } = message;
    const all = texts.ofStep(stepId);
    const own = all.find((one) => one.variant === variant);
    const times = timesOf(message);
    const sentFrom = firstSendTime(times, at) ?? at;
    return {
      stepId,
      stepIndex,
      messageType: channel,
      variant,
      message: own?.message ?? '',
      subject: own?.subject ?? null,
      variants: all.flatMap(({ variant: name, ...shown }) => (name === null ? [] : { name, ...shown })),
      attachmentUrls: files.get(stepId) ?? [],
      address: dialled(address, phone),
      scheduledDate: sentFrom.toISOString(),
      holdReason: sentFrom > at ? 'recipient_quiet_hours' : null,
      wakingHours: times.quiet ? { ...times.quiet, zones: [...times.quiet.zones] } : null,
      fromLineId: lineId,
      ...refusals(message),
    };
  });
}

/** Why messages would not be sent to their addresses. */
async function refusalsOf(
  db: TenantDb,
  { requireConsent }: CampaignRow,
  planned: readonly StepMessage[],
): Promise<(message: StepMessage) => Pick<z.infer<typeof StepPreview>, 'skipReason' | 'hasConsent'>> {
  const addresses = planned.map(({ address }) => address);
  const consented = await consentedAmong(db, planned);
  const optedOut = await optedOutAmong(db, addresses);
  const suppressed = await suppressedAmong(db, addresses);
  return ({ address, channel }) => {
    const hasConsent = consented.has(consentKey(address, channel));
    const skipReason = optedOut.has(address)
      ? 'recipient_opted_out'
      : suppressed.has(address)
        ? 'recipient_suppressed'
        : requireConsent && !hasConsent
          ? 'no_consent'
          : null;
    return { skipReason, hasConsent };
  };
}
