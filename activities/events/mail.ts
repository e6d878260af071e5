import pLimit from 'p-limit';
import { currentTime, fromNow } from '#domain/base/clock.ts';
import { parseOwnJson } from '#domain/base/own-json.ts';
import {
  agencyOutbox,
  claimMail,
  finishMail,
  type MailResult,
  type MailRow,
  nextMailAt,
  type Outbox,
  workspaceOutbox,
} from '#db/commands/events/mails.ts';
import { decide, type Look } from '#db/wakes/decisions.ts';
import { isMailSuppressed } from '#db/queries/events/mail-suppressions.ts';
import { withSystem, withTenant } from '#db/connection/transactions.ts';
import { MAIL_CONNECTIONS, type Mailer, type MailOutcome } from '#providers/mail/mailer.ts';
import { SecretBoxError } from '#providers/secret-box.ts';
import { mailSeal } from '#providers/mail/seal.ts';
import { TEMPLATES } from '#providers/mail/templates.ts';
import { mailSenderId } from '#workflows/protocol/workflow-ids.ts';
import type { Round } from '#workflows/protocol/round.ts';
import type { Dependencies } from '../dependencies.ts';
import { repeatFor, roundOf } from '../base/round.ts';

const ROUND_MS = 60_000;
const FIRST_RETRY_MS = 5000;
const LONGEST_RETRY_MS = 15 * 60_000;
/** Longer than any delivery to a mail server. An older claim belongs to a worker that crashed. */
const CLAIM_MS = 5 * 60_000;
/** An email older than this is no longer of use. */
const GIVE_UP_MS = 3 * 86_400_000;
/** Emails whose recipients tenants choose; all others go to members. */
const INVITATIONS: ReadonlySet<MailRow['template']> = new Set(['invitation', 'agencyInvitation']);
/** Emails wait while no mail server is configured. */
const NO_SERVER_MS = 10 * 60_000;

export function createMailActivities({
  pools,
  secrets,
  mailer,
  logger,
}: Pick<Dependencies, 'pools' | 'secrets' | 'mailer' | 'logger'>) {
  const connections = pLimit(MAIL_CONNECTIONS);

  async function deliver(server: Mailer, ownerId: string, mail: MailRow): Promise<MailOutcome> {
    const { id, recipient, template, dataSealed } = mail;
    try {
      if (INVITATIONS.has(template) && (await withSystem(pools, (db) => isMailSuppressed(db, recipient))))
        return { kind: 'refused', reason: 'the recipient wants no invitations', code: 'SUPPRESSED' };
      const data: unknown = parseOwnJson(mailSeal(secrets, ownerId).open(dataSealed, id));
      return await server.send({ id, to: recipient, ...TEMPLATES[template](data) });
    } catch (error) {
      logger.error({ ownerId, mailId: id, error }, 'an email cannot be rendered');
      if (error instanceof SecretBoxError)
        return { kind: 'later', reason: 'its content cannot be decrypted', code: 'ENCRYPTION_KEYS' };
      return { kind: 'refused', reason: 'it cannot be rendered', code: 'UNWRITABLE' };
    }
  }

  /** Claims and sends the next email, so that two concurrent rounds do not send it twice. @returns whether one was due. */
  async function sendNext(server: Mailer, { ownerId, transact }: Sender): Promise<boolean> {
    const start = currentTime();
    const mail = await transact((outbox) => claimMail(outbox, start, new Date(start.getTime() + CLAIM_MS)));
    if (!mail) return false;
    const outcome = await deliver(server, ownerId, mail);
    if (outcome.kind !== 'sent') {
      const { kind, code } = outcome;
      logger.warn({ ownerId, mailId: mail.id, kind, code }, 'the mail server did not accept an email');
    }
    const now = currentTime();
    await transact((outbox) => finishMail(outbox, mail.id, resultOf(mail, outcome, now), now));
    return true;
  }

  /** Sends the due emails of one outbox, for up to a minute. */
  const sendDue = (server: Mailer, sender: Sender): Promise<Round> =>
    repeatFor(ROUND_MS, 'more emails are due', async () => {
      // Connections are shared: before it is claimed, an email waits for a connection, behind the emails of other senders.
      const wasDue = await connections(sendNext, server, sender);
      return wasDue ? null : sender.look();
    });

  return {
    /**
     * Sends the due emails of a workspace. If a worker dies before it records a sent email, the email is sent again with
     * the same Message-ID.
     */
    async sendMails({ workspaceId }: { workspaceId: string }): Promise<Round> {
      const id = mailSenderId(workspaceId);
      if (mailer === null) return roundOf(await decide(pools, workspaceId, id, async () => waitForServer()));
      return sendDue(mailer, {
        ownerId: workspaceId,
        transact: (work) => withTenant(pools, workspaceId, (db) => work(workspaceOutbox(db))),
        look: () => decide(pools, workspaceId, id, (db) => lookAt(workspaceOutbox(db))),
      });
    },

    /** Like `sendMails`, for an agency. */
    async sendAgencyMails({ agencyId }: { agencyId: string }): Promise<Round> {
      if (mailer === null) return roundOf(waitForServer());
      const transact: Sender['transact'] = (work) =>
        withSystem(pools, (db) => work(agencyOutbox(db, agencyId)));
      return sendDue(mailer, {
        ownerId: agencyId,
        transact,
        look: () => transact(lookAt),
      });
    },
  };
}

/** The workspace or agency whose emails are sent. */
interface Sender {
  ownerId: string;
  transact<T>(work: (outbox: Outbox) => Promise<T>): Promise<T>;
  /** When the next email is due. */
  look(): Promise<Look>;
}

/** The state of an email after an attempt. */
export function resultOf({ attemptCount, createdAt }: MailRow, outcome: MailOutcome, now: Date): MailResult {
  if (outcome.kind === 'sent') return { status: 'sent' };
  const tooOld = now.getTime() - createdAt.getTime() > GIVE_UP_MS;
  if (outcome.kind === 'refused' || tooOld) return { status: 'failed', error: outcome.reason };
  const wait = Math.min(LONGEST_RETRY_MS, FIRST_RETRY_MS * 2 ** Math.min(attemptCount, 20));
  return { status: 'pending', error: outcome.reason, retryAt: new Date(now.getTime() + wait) };
}

async function lookAt(outbox: Outbox): Promise<Look> {
  const nextAt = await nextMailAt(outbox);
  const reason = nextAt === null ? 'every email is sent' : 'an email is due or will be retried then';
  return { nextAt, reason };
}

const waitForServer = (): Look => ({
  nextAt: fromNow(NO_SERVER_MS),
  reason: 'SMTP_URL is not set',
});
