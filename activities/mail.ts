import pLimit from 'p-limit';
import {
  agencyOutbox,
  claimMail,
  finishMail,
  type MailResult,
  type MailRow,
  nextMailAt,
  type Outbox,
  workspaceOutbox,
} from '#db/commands/outbox/mails.ts';
import { decide } from '#db/decisions.ts';
import { withSystem, withTenant } from '#db/transactions.ts';
import { MAIL_CONNECTIONS, type Mailer, type MailOutcome } from '#providers/mail/mailer.ts';
import { mailSeal } from '#providers/mail/seal.ts';
import { TEMPLATES } from '#providers/mail/templates.ts';
import { mailSenderId } from '#workflows/messages/wake.ts';
import type { Round } from '#workflows/messages/round.ts';
import type { Dependencies } from './dependencies.ts';
import { withHeartbeat } from './heartbeat.ts';
import { isDue, type Look, roundOf } from './round.ts';

const ROUND_MS = 60_000;
const FIRST_RETRY_MS = 5000;
const LONGEST_RETRY_MS = 15 * 60_000;
/** Longer than a mail server can take over one email: a claim this old is of a worker that died. */
const CLAIM_MS = 5 * 60_000;
/** Later than this an email is news from the past. */
const GIVE_UP_MS = 3 * 86_400_000;
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
      const data: unknown = JSON.parse(mailSeal(secrets, ownerId).open(dataSealed, id));
      return await server.send({ id, to: recipient, ...TEMPLATES[template](data) });
    } catch (error) {
      logger.error({ ownerId, mailId: id, error }, 'an email cannot be written');
      return { kind: 'refused', reason: 'it cannot be written', code: 'UNWRITABLE' };
    }
  }

  /** Each is claimed before it is sent, so that two rounds at once send none twice. @returns whether one was due. */
  async function sendNext(server: Mailer, { ownerId, transact }: Sender): Promise<boolean> {
    const start = new Date();
    const mail = await transact((outbox) => claimMail(outbox, start, new Date(start.getTime() + CLAIM_MS)));
    if (!mail) return false;
    const outcome = await deliver(server, ownerId, mail);
    if (outcome.kind !== 'sent') {
      const { kind, code } = outcome;
      logger.warn({ ownerId, mailId: mail.id, kind, code }, 'an email was not taken');
    }
    const now = new Date();
    await transact((outbox) => finishMail(outbox, mail.id, resultOf(mail, outcome, now), now));
    return true;
  }

  /** Sends what is due of one outbox, for a minute. */
  const sendDue = (server: Mailer, sender: Sender): Promise<Round> =>
    withHeartbeat(async (canceled) => {
      const end = Date.now() + ROUND_MS;
      while (Date.now() < end && !canceled.aborted) {
        // The connections are shared: an email waits for one before it is claimed, behind those of other senders.
        if (await connections(sendNext, server, sender)) continue;
        const look = await sender.look();
        if (!isDue(look)) return roundOf(look);
      }
      return { nextAt: new Date().toISOString(), reason: 'more emails are due' };
    });

  return {
    /**
     * Sends the emails of a workspace that are due. One that was sent and not yet noted when a worker died goes out
     * again under the same Message-ID.
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

    /** As `sendMails`, for an agency. */
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

/** Whose emails are sent. */
interface Sender {
  ownerId: string;
  transact<T>(work: (outbox: Outbox) => Promise<T>): Promise<T>;
  /** When the next email is due. */
  look(): Promise<Look>;
}

/** What becomes of an email after an attempt. */
export function resultOf({ attemptCount, createdAt }: MailRow, outcome: MailOutcome, now: Date): MailResult {
  if (outcome.kind === 'sent') return { status: 'sent' };
  const tooOld = now.getTime() - createdAt.getTime() > GIVE_UP_MS;
  if (outcome.kind === 'refused' || tooOld) return { status: 'failed', error: outcome.reason };
  const wait = Math.min(LONGEST_RETRY_MS, FIRST_RETRY_MS * 2 ** Math.min(attemptCount, 20));
  return { status: 'pending', error: outcome.reason, retryAt: new Date(now.getTime() + wait) };
}

async function lookAt(outbox: Outbox): Promise<Look> {
  const nextAt = await nextMailAt(outbox);
  const reason = nextAt === null ? 'every email is sent' : 'an email is due then, or is tried again';
  return { nextAt, reason };
}

const waitForServer = (): Look => ({
  nextAt: new Date(Date.now() + NO_SERVER_MS),
  reason: 'SMTP_URL is not set',
});
