import { queueMail } from '#db/commands/events/mails.ts';
import type { StoredLineRequest } from '#db/queries/lines/line-requests.ts';
import { listTeam, workspaceName } from '#db/queries/accounts/team.ts';
import type { TenantDb } from '#db/connection/transactions.ts';
import type { NewMail } from '#domain/events/mail.ts';
import { mailSeal } from '#providers/mail/seal.ts';
import type { Services } from '#api/services.ts';

/**
 * Emails the owner of the workspace, in the transaction of the cause.
 * @param findOwner the owner's address, for a transaction that is not of the workspace alone.
 */
export async function emailOwner(
  db: TenantDb,
  { title, paragraphs, path }: { title: string; paragraphs: string[]; path: string },
  { secrets, config, now }: Pick<Services, 'secrets' | 'config'> & { now: Date },
  findOwner = async (): Promise<string | null> =>
    (await listTeam(db)).find(({ isOwner }) => isOwner)?.email ?? null,
): Promise<void> {
  const to = await findOwner();
  if (to === null || to === '') return;
  const data = {
    workspaceName: await workspaceName(db),
    title,
    paragraphs,
    link: new URL(path, config.publicUrl).href,
  };
  const mail: NewMail = { to, template: 'ownerNotice', data };
  await queueMail(db, mail, mailSeal(secrets, db.workspaceId), now);
}

/** @param by who requested it, as the audit log names them. */
export const paidLineNotice = ({ firstName, lastName, channel }: StoredLineRequest, by: string) => ({
  title: 'A line that costs extra was requested',
  paragraphs: [
    `${by} requested the ${channel} line ${firstName} ${lastName}. The plan does not include it, so it is paid for separately.`,
  ],
  path: '/console/lines',
});

/** @param by who made them one; null: the invitation of a key. */
export const newAdminNotice = (name: string, by: string | null) => ({
  title: 'There is a new admin',
  paragraphs: [
    `${name} is now an admin${by === null ? '' : `, made one by ${by}`}. Admins manage the team, keys, lines and settings. If you do not expect this, change it under Team.`,
  ],
  path: '/console/settings/team',
});
