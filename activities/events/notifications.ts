import type { z } from 'zod';
import { currentTime } from '#domain/base/clock.ts';
import { findEmailPreferences } from '#db/queries/events/email-preferences.ts';
import { type MailSeal, queueMail } from '#db/commands/events/mails.ts';
import { campaignDigest, mentionsText, type NoticeText, noticeText } from '#db/commands/events/notices.ts';
import { notificationRecipients, type Recipient } from '#db/queries/events/notification-recipients.ts';
import {
  isPositiveConversation,
  nextNotificationAt,
  type NotificationRow,
  takeDue,
} from '#db/commands/events/notifications.ts';
import { decide, type Look } from '#db/wakes/decisions.ts';
import { type TenantDb, withTenant } from '#db/connection/transactions.ts';
import { type ReplyAlert, replyAlerts } from '#db/commands/events/reply-alerts.ts';
import { workspaceProfile } from '#db/queries/accounts/workspaces.ts';
import { toZoned } from '#domain/base/calendar.ts';
import type { MailData, NewMail } from '#domain/events/mail.ts';
import { isReplyAlert, Notice, type NotificationKind } from '#domain/events/notification.ts';
import { truncate } from '#domain/base/text.ts';
import { mailSeal } from '#providers/mail/seal.ts';
import { createDraftLinks } from '#providers/draft-link.ts';
import { createTurnOffLinks } from '#providers/turn-off-link.ts';
import { notifierId } from '#workflows/protocol/workflow-ids.ts';
import type { Round } from '#workflows/protocol/round.ts';
import type { Dependencies } from '../dependencies.ts';
import { repeatFor } from '../base/round.ts';
import { ROWS_PER_TRANSACTION } from '../base/transaction-size.ts';

const ROUND_MS = 60_000;
/** Contacts in one email. */
const CONTACTS = 50;
/** Characters of one reply. */
const EXCERPT = 2000;

type Needs = Pick<Dependencies, 'pools' | 'secrets' | 'signer' | 'publicUrl'>;
type Contact = z.input<typeof MailData.replyAlert>['contacts'][number];

export function createNotificationActivities({ pools, secrets, signer, publicUrl }: Needs) {
  const links = createTurnOffLinks(publicUrl, signer);
  const draftLinks = createDraftLinks(publicUrl, signer);

  /** The data that a transaction needs to write its emails. */
  function writer(db: TenantDb, seal: Pick<MailSeal, 'seal'>, now: Date) {
    const { workspaceId } = db;
    const turnOffLink = ({ userId }: Recipient, kind: NotificationKind): string =>
      links.url({ workspaceId, userId, kind });
    const queue = (mail: NewMail): Promise<void> => queueMail(db, mail, seal, now);
    return { turnOffLink, queue };
  }
  type Writer = ReturnType<typeof writer>;

  async function writeNotice(
    db: TenantDb,
    { queue, turnOffLink }: Writer,
    kind: NotificationKind,
    text: NoticeText | null,
  ): Promise<void> {
    if (!text) return;
    const { name: workspaceName } = await workspaceProfile(db);
    const { once, contactOwnerEmail = null, draftId, ...said } = text;
    const receivedAs = kind === 'reply' ? 'reply_recipient' : 'admin';
    for (const person of (await notificationRecipients(db, kind))(contactOwnerEmail)) {
      const decisions = draftId === undefined ? {} : decisionsOf(db, person, draftId);
      await queue({
        to: person.email,
        template: 'notice',
        data: { ...said, ...decisions, receivedAs, workspaceName, turnOffLink: turnOffLink(person, kind) },
        ...(once !== undefined && { dedupeKey: `${once}:${person.userId}` }),
      });
    }
  }

  function decisionsOf({ workspaceId }: TenantDb, { userId }: Recipient, replyId: string) {
    const link = (action: 'approve' | 'reject') => draftLinks.url({ workspaceId, replyId, userId }, action);
    return {
      action: { label: 'Approve', link: link('approve') },
      otherAction: { label: 'Reject', link: link('reject') },
    };
  }

  /** Writes one email per notice; active campaigns share one, and so do the notes that mention a member. */
  async function writeNotices(
    db: TenantDb,
    mails: Writer,
    rows: readonly NotificationRow[],
    now: Date,
  ): Promise<void> {
    const underWay: string[] = [];
    const mentions = new Map<string, string[]>();
    for (const { kind, data } of rows) {
      const notice = Notice.parse(data);
      if (notice.about === 'campaign_progress') underWay.push(notice.campaignId);
      else if (notice.about === 'mentioned')
        mentions.set(notice.userId, [...(mentions.get(notice.userId) ?? []), notice.noteId]);
      else await writeNotice(db, mails, kind, await noticeText(db, notice, { now, publicUrl }));
    }
    await writeNotice(db, mails, 'campaign', await campaignDigest(db, underWay, now));
    for (const [userId, noteIds] of mentions)
      await writeNotice(db, mails, 'reply', await mentionsText(db, { userId, noteIds }, publicUrl));
  }

  /** Writes one email per contact and recipient; as a digest, one per recipient. */
  async function writeReplies(
    db: TenantDb,
    { queue, turnOffLink }: Writer,
    rows: readonly NotificationRow[],
    mode: string,
  ): Promise<void> {
    const wanted: { address: string; since: Date }[] = [];
    for (const { subject: address, since } of rows) {
      if (mode !== 'positive_only' || (await isPositiveConversation(db, address)))
        wanted.push({ address, since });
    }
    if (wanted.length === 0) return;
    const { name: workspaceName, timezone } = await workspaceProfile(db);
    const recipientsOf = await notificationRecipients(db, 'reply');
    const digest = mode === 'daily_digest';
    const mails = new Map<string, { person: Recipient; contacts: Contact[] }>();
    for (const alert of await replyAlerts(db, wanted)) {
      for (const person of recipientsOf(alert.contactOwnerEmail)) {
        const key = digest ? person.userId : `${person.userId} ${alert.address}`;
        const mail = mails.get(key) ?? { person, contacts: [] };
        mail.contacts.push(contactOf(alert, publicUrl, timezone));
        mails.set(key, mail);
      }
    }
    for (const { person, contacts } of mails.values()) {
      const more = Math.max(0, contacts.length - CONTACTS);
      const link = turnOffLink(person, 'reply');
      const data = { workspaceName, digest, contacts: contacts.slice(0, CONTACTS), more, turnOffLink: link };
      await queue({ to: person.email, template: 'replyAlert', data });
    }
  }

  /**
   * Moves a batch of due notifications to the outbox of the mail sender, as emails, in one transaction.
   * @returns the size of the batch.
   */
  async function writeDue(db: TenantDb, now: Date): Promise<number> {
    const due = await takeDue(db, now, ROWS_PER_TRANSACTION);
    const preferences = await findEmailPreferences(db);
    const wanted = due.filter(({ kind }) => preferences[kind].enabled);
    const mails = writer(db, mailSeal(secrets, db.workspaceId), now);
    const replies = wanted.filter((row) => isReplyAlert(row));
    const notices = wanted.filter((row) => !isReplyAlert(row));
    await writeNotices(db, mails, notices, now);
    await writeReplies(db, mails, replies, preferences.reply.mode);
    return due.length;
  }

  return {
    /** Writes the due notification emails of a workspace, each exactly once. */
    writeNotifications: ({ workspaceId }: { workspaceId: string }): Promise<Round> =>
      repeatFor(ROUND_MS, 'there are more notifications to write', async () => {
        const count = await withTenant(pools, workspaceId, (db) => writeDue(db, currentTime()));
        if (count === ROWS_PER_TRANSACTION) return null;
        return decide(pools, workspaceId, notifierId(workspaceId), lookAtNotifications);
      }),
  };
}

function contactOf({ address, name, replies }: ReplyAlert, publicUrl: string, zone: string): Contact {
  return {
    address,
    name,
    link: `${publicUrl}/inbox/${encodeURIComponent(address)}`,
    replies: replies.map(({ text, at }) => ({
      text: text.length > EXCERPT ? `${truncate(text, EXCERPT)}…` : text,
      at: toZoned(zone, at).toLocaleString('en', { dateStyle: 'medium', timeStyle: 'short' }),
    })),
  };
}

async function lookAtNotifications(db: TenantDb): Promise<Look> {
  const nextAt = await nextNotificationAt(db);
  return {
    nextAt,
    reason:
      nextAt === null
        ? 'every notification is written'
        : 'notifications are gathered until their email is due',
  };
}
