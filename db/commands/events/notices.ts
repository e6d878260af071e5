import { sql } from 'slonik';
import { z } from 'zod';
import { draftShown } from '#domain/drafts/chat.ts';
import { withNames } from '#domain/inbox/conversation-note.ts';
import type { Notice } from '#domain/events/notification.ts';
import { shownReply } from '#domain/inbox/reply.ts';
import { campaignProgress, findCampaign } from '#db/queries/campaigns/campaigns.ts';
import { draftForChat } from '#db/commands/drafts/chat-messages.ts';
import { findNote } from '#db/queries/inbox/conversation-notes.ts';
import { findInboxMember, listInboxMembers } from '#db/queries/inbox/inbox-members.ts';
import { findRuleRun } from '#db/queries/inbox/rule-runs.ts';
import type { RuleTrigger } from '#domain/inbox/rule.ts';
import { findLead, findLeadsByAddress } from '#db/queries/contacts/leads.ts';
import { findLine } from '#db/queries/lines/lines.ts';
import { findSuspicion } from '#db/queries/contacts/opt-out-suspicions.ts';
import { contactName } from '#db/queries/inbox/replies.ts';
import type { TenantDb } from '#db/connection/transactions.ts';
import { findWebhook } from '#db/queries/events/webhooks.ts';

/** The content of a notification email. */
export interface NoticeText {
  title: string;
  paragraphs: string[];
  sections?: { heading: string; paragraphs: string[] }[];
  action: { label: string; link: string } | null;
  /** The draft about which each recipient can decide, with links of their own. */
  draftId?: string;
  /** At most one email is sent per key. */
  once?: string;
  /** For a notice about a contact: the contact's owner, who gets it instead of the admins. */
  contactOwnerEmail?: string | null;
}

/** Renders a notice with current names. @returns null if its subject no longer exists. */
export async function noticeText(
  db: TenantDb,
  notice: Exclude<Notice, { about: 'campaign_progress' | 'mentioned' }>,
  { now, publicUrl }: { now: Date; publicUrl: string },
): Promise<NoticeText | null> {
  switch (notice.about) {
    case 'campaign_completed':
      return campaignCompleted(db, notice.campaignId, now);
    case 'payment_failed': {
      const what =
        notice.lineId === null ? 'your subscription' : `the line ${await lineName(db, notice.lineId)}`;
      const effect =
        notice.lineId === null
          ? 'Until it is paid, nothing is sent and nothing can be changed. You can still read everything.'
          : 'The line will be set up as soon as it is paid.';
      const { paymentUrl } = notice;
      return {
        title: 'A payment failed',
        paragraphs: [`The payment for ${what} did not go through.`, effect],
        action: paymentUrl === null ? null : { label: 'Pay now', link: paymentUrl },
      };
    }
    case 'invoice_paid':
      return {
        title: 'Invoice paid',
        paragraphs: [`The invoice for the line ${await lineName(db, notice.lineId)} is paid. Thank you.`],
        action: null,
      };
    case 'plan_changed':
      return {
        title: 'Your plan has changed',
        paragraphs: [
          notice.from === null
            ? `The workspace is now on the ${notice.to} plan.`
            : `The workspace has moved from the ${notice.from} plan to the ${notice.to} plan.`,
        ],
        action: null,
      };
    case 'subscription_canceled':
      return {
        title: 'Your subscription is canceled',
        paragraphs: ['The workspace no longer has a plan and sends nothing. You can still read everything.'],
        action: null,
      };
    case 'line_failed':
      return {
        title: 'A line could not be set up',
        paragraphs: [
          `The line ${await lineName(db, notice.lineId)} could not be set up: ${notice.reason}.`,
          'Anything paid for it is credited. The request can be retried.',
        ],
        action: null,
      };
    case 'opt_out_suspected':
      return optOutSuspected(db, notice.suspicionId, publicUrl);
    case 'rule_ran':
      return ruleRan(db, notice.runId, publicUrl);
    case 'draft_waiting':
      return draftWaiting(db, notice.replyId);
    case 'webhook_failing':
      return webhookFailing(db, notice);
  }
}

/** @returns null if somebody has decided. */
async function draftWaiting(db: TenantDb, replyId: string): Promise<NoticeText | null> {
  const told = await draftForChat(db, replyId);
  if (told?.status !== 'drafted' || told.draft === null) return null;
  const { contactOwnerEmail } = told;
  const title = 'A draft waits for your decision';
  return { title, paragraphs: draftShown(told), action: null, draftId: replyId, contactOwnerEmail };
}

async function campaignCompleted(db: TenantDb, campaignId: string, now: Date): Promise<NoticeText | null> {
  const campaign = await findCampaign(db, campaignId);
  if (!campaign) return null;
  const { entered, finished, stopped } = await campaignProgress(db, campaign);
  return {
    title: `Campaign completed: ${campaign.name}`,
    paragraphs: [
      `${leads(entered)} entered. ${finished} went through all steps, ${stopped} stopped before (a reply, an opt-out or a failure).`,
      happened(await doneBy(db, campaignId)),
    ],
    action: null,
    // Leads added one by one complete the campaign again and again; one email per day is enough.
    once: `campaign:${campaignId}:${now.toISOString().slice(0, 10)}`,
  };
}

const DAY_MS = 86_400_000;

/**
 * The progress of campaigns, in one email.
 * @returns null if none of them was active within a day.
 */
export async function campaignDigest(
  db: TenantDb,
  campaignIds: readonly string[],
  now: Date,
): Promise<NoticeText | null> {
  const news: { heading: string; paragraphs: string[] }[] = [];
  for (const id of campaignIds) {
    const campaign = await findCampaign(db, id);
    if (campaign?.status !== 'active') continue;
    const today = await doneBy(db, id, new Date(now.getTime() - DAY_MS));
    if (today.sent + today.failed + today.replied === 0) continue;
    const { entered, running, finished, stopped } = await campaignProgress(db, campaign);
    news.push({
      heading: campaign.name,
      paragraphs: [
        `${leads(entered)} entered: ${running} under way, ${finished} went through all steps, ${stopped} stopped before (a reply, an opt-out or a failure).`,
        `In the last 24 hours: ${happened(today)}`,
        `In all: ${happened(await doneBy(db, id))}`,
      ],
    });
  }
  const [first] = news;
  if (!first) return null;
  return news.length === 1
    ? { title: `Campaign progress: ${first.heading}`, paragraphs: first.paragraphs, action: null }
    : { title: `${news.length} campaigns under way`, paragraphs: [], sections: news, action: null };
}

const leads = (count: number): string => `${count} ${count === 1 ? 'lead' : 'leads'}`;

const happened = ({ sent, failed, replied }: Done): string =>
  `${sent} ${sent === 1 ? 'message was' : 'messages were'} sent, ${failed} failed. ${replied} ${replied === 1 ? 'contact' : 'contacts'} replied.`;

const Done = z.object({ sent: z.int(), failed: z.int(), replied: z.int() });
type Done = z.infer<typeof Done>;

/** The results of a campaign, in total or since a time. */
async function doneBy(db: TenantDb, campaignId: string, since?: Date): Promise<Done> {
  const after = (...columns: string[]) =>
    since
      ? sql.fragment`and coalesce(${sql.join(
          columns.map((name) => sql.identifier([name])),
          sql.fragment`, `,
        )}) >= ${sql.timestamp(since)}`
      : sql.fragment``;
  return db.one(sql.type(Done)`
    select
      (select count(*) from messages where workspace_id = ${db.workspaceId} and campaign_id = ${campaignId}
        and status in ('sent', 'delivered', 'fallback') ${after('sent_at', 'updated_at')}) sent,
      (select count(*) from messages where workspace_id = ${db.workspaceId} and campaign_id = ${campaignId}
        and status = 'failed' ${after('updated_at')}) failed,
      (select count(distinct address) from inbound_messages where workspace_id = ${db.workspaceId}
        and campaign_id = ${campaignId} and not auto_reply ${after('received_at')}) replied`);
}

/** What an email says of notes at most; the rest is counted. */
const NOTES = 20;

/**
 * For the mentioned member only: the notes that mention them, in one email.
 * @returns null if they left the workspace, their address is not known, or no note is left.
 */
export async function mentionsText(
  db: TenantDb,
  { noteIds, userId }: { noteIds: readonly string[]; userId: string },
  publicUrl: string,
): Promise<NoticeText | null> {
  const told: { heading: string; paragraphs: string[]; link: string }[] = [];
  let email: string | undefined;
  for (const noteId of noteIds.slice(0, NOTES)) {
    const note = await findNote(db, noteId);
    if (!note) continue;
    const members = await listInboxMembers(db, note.mentions);
    email = members.find((member) => member.userId === userId)?.email;
    if (email === undefined || !email.includes('@')) return null;
    const nameOf = (id: string): string | undefined => members.find((member) => member.userId === id)?.name;
    const { address } = note;
    const name = await nameOfContact(db, address);
    told.push({
      heading: `${note.authorName ?? 'A colleague'} mentioned you in a note about ${name}`,
      // With the address, by which an erasure finds the email.
      paragraphs: [`“${withNames(note.text, nameOf)}”`, withAddress(name, address)],
      link: linkTo(address, publicUrl),
    });
  }
  const [first] = told;
  if (!first || email === undefined) return null;
  const contactOwnerEmail = email;
  if (noteIds.length === 1) {
    const { heading: title, paragraphs, link } = first;
    return { title, paragraphs, action: { label: 'Open the conversation', link }, contactOwnerEmail };
  }
  const sections = told.map(({ heading, paragraphs, link }) => ({
    heading,
    paragraphs: [...paragraphs, link],
  }));
  const more = noteIds.length - told.length;
  return {
    title: `${noteIds.length} notes mention you`,
    paragraphs: more > 0 ? [`The first ${told.length} of them:`] : [],
    sections,
    action: null,
    contactOwnerEmail,
  };
}

const withAddress = (name: string, address: string): string =>
  name === address ? name : `${name} (${address})`;

const linkTo = (address: string, publicUrl: string): string =>
  `${publicUrl}/inbox/${encodeURIComponent(address)}`;

async function nameOfContact(db: TenantDb, address: string): Promise<string> {
  const leadId = (await findLeadsByAddress(db, [address])).get(address);
  const lead = leadId === undefined ? null : await findLead(db, leadId);
  return contactName(lead && { firstName: lead.firstName, lastName: lead.lastName }, null, address);
}

/** @returns null if it was decided in the meantime. */
async function optOutSuspected(
  db: TenantDb,
  suspicionId: string,
  publicUrl: string,
): Promise<NoticeText | null> {
  const suspicion = await findSuspicion(db, suspicionId);
  if (suspicion?.status !== 'open') return null;
  const { address, leadId, body } = suspicion;
  const lead = leadId === null ? null : await findLead(db, leadId);
  const name = contactName(
    { firstName: lead?.firstName ?? '', lastName: lead?.lastName ?? '' },
    null,
    address,
  );
  return {
    title: `${name} may want no more messages`,
    paragraphs: [
      `${withAddress(name, address)} wrote: “${shownReply(body)}”`,
      'Campaigns to them wait until somebody confirms the opt-out or dismisses it. Nobody is opted out by a guess.',
    ],
    action: { label: 'Decide', link: linkTo(address, publicUrl) },
    once: `suspicion:${suspicionId}`,
    contactOwnerEmail: lead?.contactOwnerEmail ?? null,
  };
}

const AssigneeRow = z.object({ assigneeId: z.string().nullable() });

/** For the assignee, else for the owner of the contact. @returns null if the contact was erased. */
async function ruleRan(db: TenantDb, runId: string, publicUrl: string): Promise<NoticeText | null> {
  const run = await findRuleRun(db, runId);
  if (!run) return null;
  const { address, ruleName, trigger } = run;
  const assigneeId = await db.maybeOneFirst(sql.type(AssigneeRow)`
    select assignee_id from conversations where workspace_id = ${db.workspaceId} and address = ${address}`);
  const assignee = assigneeId === null ? null : await findInboxMember(db, assigneeId);
  const leadId = (await findLeadsByAddress(db, [address])).get(address);
  const lead = leadId === undefined ? null : await findLead(db, leadId);
  const name = contactName(lead, null, address);
  return {
    title: `${name}: ${ruleName}`,
    paragraphs: [
      `${withAddress(name, address)} ${HAPPENED[trigger]}. The rule “${ruleName}” says to tell you.`,
    ],
    action: { label: 'Open the conversation', link: linkTo(address, publicUrl) },
    once: `rule:${runId}`,
    contactOwnerEmail: assignee?.email ?? lead?.contactOwnerEmail ?? null,
  };
}

const HAPPENED: Record<RuleTrigger, string> = {
  reply: 'has written',
  missed_call: 'called, and nobody answered',
  conversation_opened: 'has a conversation that was opened',
  tag_added: 'has a new tag',
  no_answer_for: 'waits for an answer',
  draft: 'has a draft that waits for a decision',
};

async function webhookFailing(
  db: TenantDb,
  { webhookId, failures, isGone = false }: Extract<Notice, { about: 'webhook_failing' }>,
): Promise<NoticeText | null> {
  const webhook = await findWebhook(db, webhookId);
  if (!webhook) return null;
  if (isGone)
    return {
      title: `A webhook was deactivated: ${webhook.name}`,
      paragraphs: [
        `${webhook.url} responded that it is gone (410), so nothing is delivered to it any more.`,
        'Once the webhook has another URL, you can activate it again.',
      ],
      action: null,
    };
  const since = webhook.lastSuccessAt?.toISOString() ?? null;
  return {
    title: `A webhook is failing: ${webhook.name}`,
    paragraphs: [
      `The last ${failures} deliveries to ${webhook.url} failed.`,
      since === null
        ? 'None has ever succeeded.'
        : `The last one that succeeded was at ${new Date(since).toUTCString()}.`,
      'Failed deliveries are not retried. You can replay them once the endpoint responds again.',
    ],
    action: null,
  };
}

async function lineName(db: TenantDb, lineId: string): Promise<string> {
  const line = await findLine(db, lineId);
  if (!line) return lineId;
  return [`${line.firstName} ${line.lastName}`.trim(), line.phone ?? line.email ?? '']
    .filter(Boolean)
    .join(', ');
}
