import { z } from 'zod';
import { complianceOverview } from '#db/queries/contacts/compliance.ts';
import { MAX_SENT, sentCampaigns, sentMessages, sentSpan } from '#db/queries/messages/sent-messages.ts';
import { workspacePace } from '#db/queries/accounts/workspaces.ts';
import { withTenantReads } from '#db/connection/transactions.ts';
import { Id } from '#domain/base/ids.ts';
import { KEYWORDS } from '#domain/contacts/opt-out.ts';
import { previewQuietHours } from '#domain/sending/quiet-hours-preview.ts';
import { QuietHours } from '#domain/sending/quiet-hours.ts';
import { runInTurns } from '#domain/base/turns.ts';
import { workspaceRoute } from '#api/http/route.ts';
import { requireLawfulTime } from './quiet-hours.ts';

const DAYS = 30;
const DAY_MS = 86_400_000;

const ABOUT = `From the messages sent in the last ${DAYS} days; of more than ${MAX_SENT.toLocaleString('en')}, the newest (\`complete\` is false, and \`from\` says since when).`;

/** The messages that a response covers. */
const Looked = z.object({
  from: z.iso.datetime(),
  to: z.iso.datetime(),
  complete: z.boolean().meta({ description: `Whether these are all messages of the last ${DAYS} days.` }),
});

const Held = z.object({
  messages: z.int(),
  held: z.int().meta({ description: 'The messages that would have waited.' }),
  longestHoldMinutes: z.int().nullable().meta({ description: 'null: none would have waited.' }),
});

const Preview = Looked.extend({
  success: z.literal(true),
  timezone: z.string(),
  ...Held.shape,
  byReason: z
    .object({
      hours: z.int().meta({ description: 'Held by `start` and `end`.' }),
      law: z.int().meta({ description: 'Held by the law of a state although the hours allowed it.' }),
    })
    .meta({ description: 'How many of the held messages.' }),
  neverSent: z.int().meta({
    description: 'The held messages whose send window never overlaps the allowed hours.',
  }),
  byDay: z.array(Held.extend({ date: z.iso.date() })),
  byPlace: z
    .array(
      Held.extend({
        zones: z.array(z.string()).meta({ description: 'Time zones where the recipient may be.' }),
        region: z.string().nullable().meta({ example: 'US-FL' }),
      }),
    )
    .meta({ description: 'The 50 places with the most held messages.' }),
}).meta({ id: 'QuietHoursPreview' });
const MAX_PLACES = 50;

const Overview = z.object({
  success: z.literal(true),
  quietHours: QuietHours,
  campaigns: z
    .object({
      running: z.int(),
      requireConsent: z.int(),
      ownQuietHours: z.int().meta({ description: 'Campaigns with their own `quietHours`.' }),
    })
    .meta({ description: 'Campaigns that are active or paused.' }),
  suspectedOptOuts: z.int().meta({ description: 'Replies that wait for a decision.' }),
  suppressions: z.int().meta({ description: 'Addresses and domains that the agency suppresses.' }),
  keywords: z
    .object({ optOut: z.array(z.string()), optIn: z.array(z.string()) })
    .meta({ description: 'Replies that opt a contact out or in without a decision.' }),
});

const ConsentOfCampaign = z.object({
  campaignId: Id,
  name: z.string(),
  requireConsent: z.boolean(),
  granted: z.int(),
  revoked: z.int(),
  unknown: z.int(),
});

export const complianceRoutes = [
  workspaceRoute({
    id: 'getCompliance',
    method: 'GET',
    path: '/api/compliance',
    tag: 'Compliance',
    summary: 'Get the compliance settings: quiet hours, consent, keywords, and open suspicions',
    responses: { 200: Overview },
    async handler({ db }) {
      const { quiet } = await workspacePace(db);
      const { running, requireConsent, ownQuietHours, ...counts } = await complianceOverview(db);
      return {
        status: 200,
        body: {
          success: true,
          quietHours: quiet.workspace,
          campaigns: { running, requireConsent, ownQuietHours },
          ...counts,
          keywords: KEYWORDS,
        },
      };
    },
  }),

  workspaceRoute({
    id: 'previewQuietHours',
    method: 'POST',
    path: '/api/compliance/quiet-hours-preview',
    tag: 'Compliance',
    scope: 'read',
    transaction: false,
    openWhenReadOnly: true,
    summary: 'Preview which messages of the last month quiet hours would have held; nothing is changed',
    description: `${ABOUT} By the rules of pacing: campaigns keep quiet hours of their own, and a contact who had written within 24 hours is not asleep. Times are rounded down to the minute.`,
    body: QuietHours,
    responses: { 200: Preview },
    async handler({ caller: { workspace }, body, now, pools }) {
      requireLawfulTime(body, now);
      const since = new Date(now.getTime() - DAYS * DAY_MS);
      const { sent, span, campaigns } = await withTenantReads(pools, workspace.id, async (db) => ({
        sent: await sentMessages(db, since),
        span: await sentSpan(db, since),
        campaigns: (await workspacePace(db)).quiet.campaigns,
      }));
      const { timezone } = workspace;
      const { byPlace, ...preview } = await runInTurns(
        previewQuietHours(sent, { workspace: body, campaigns }, timezone),
      );
      const places = byPlace
        .slice(0, MAX_PLACES)
        .map(({ zones, ...place }) => ({ ...place, zones: [...zones] }));
      return {
        status: 200,
        body: { success: true, ...looked(span, since, now), timezone, ...preview, byPlace: places },
      };
    },
  }),

  workspaceRoute({
    id: 'getCampaignConsents',
    method: 'GET',
    path: '/api/compliance/campaign-consents',
    tag: 'Compliance',
    heavy: true,
    summary:
      'Get how many recipients of campaigns in the last month had consented when they were sent a message',
    description: `${ABOUT} A recipient counts once for each campaign.`,
    responses: {
      200: Looked.extend({
        success: z.literal(true),
        recipients: z.int(),
        withoutConsent: z.int(),
        campaigns: z.array(ConsentOfCampaign).meta({ description: 'Most recipients without consent first.' }),
      }),
    },
    async handler({ db, now }) {
      const since = new Date(now.getTime() - DAYS * DAY_MS);
      const campaigns = [...(await sentCampaigns(db, since))];
      const sum = (of: (campaign: (typeof campaigns)[number]) => number): number =>
        campaigns.reduce((total, campaign) => total + of(campaign), 0);
      const withoutConsent = sum(({ revoked, unknown }) => revoked + unknown);
      return {
        status: 200,
        body: {
          success: true,
          ...looked(await sentSpan(db, since), since, now),
          recipients: withoutConsent + sum(({ granted }) => granted),
          withoutConsent,
          campaigns,
        },
      };
    },
  }),
];

function looked({ count, from }: { count: number; from: Date | null }, since: Date, now: Date) {
  const complete = count < MAX_SENT;
  return { from: ((!complete && from) || since).toISOString(), to: now.toISOString(), complete };
}
