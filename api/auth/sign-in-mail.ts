import { agencyOutbox, insertMail, queueMail } from '#db/commands/events/mails.ts';
import { inWorkspace } from '#db/queries/accounts/agency.ts';
import { placeOfUser, type UserAddress } from '#db/queries/accounts/users.ts';
import type { SystemTransaction } from '#db/connection/transactions.ts';
import { currentTime } from '#domain/base/clock.ts';
import { EMAILED_LINK_MINUTES } from '#domain/accounts/sign-in-link.ts';
import { mailSeal } from '#providers/mail/seal.ts';
import type { SecretBox } from '#providers/secret-box.ts';
import { agencyMailSenderId } from '#workflows/protocol/workflow-ids.ts';

/** Queues the email with a link that signs in, in the outbox of a workspace or agency of the user. Who belongs to none gets no email. */
export async function mailSignInLink(
  db: SystemTransaction,
  secrets: SecretBox,
  { id, email }: UserAddress,
  link: string,
): Promise<void> {
  const place = await placeOfUser(db, id);
  if (!place) return;
  const mail = {
    to: email,
    template: 'signInLink',
    data: { link, minutes: EMAILED_LINK_MINUTES },
  } as const;
  const { workspaceId, agencyId } = place;
  const now = currentTime();
  if (workspaceId !== null)
    await queueMail(inWorkspace(db, { id: workspaceId }), mail, mailSeal(secrets, workspaceId), now);
  else if (agencyId !== null) {
    await insertMail(agencyOutbox(db, agencyId), mail, mailSeal(secrets, agencyId), now);
    db.wakes.signal(agencyMailSenderId(agencyId), agencyId, 'mailsDue');
  }
}
