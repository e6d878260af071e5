import { Trans, useLingui } from '@lingui/react/macro';
import { useRead, useReadPages, useWrite } from '#console/api/queries.ts';
import type { ResponseOf } from '#console/api/routes.ts';
import { useTimeZone } from '#console/api/workspace.ts';
import { Badge } from '#console/components/badge.tsx';
import { Button } from '#console/components/button.tsx';
import { ConfirmButton } from '#console/components/confirm.tsx';
import { InviteForm } from '#console/components/invite-form.tsx';
import { Card } from '#console/components/page.tsx';
import { ShowMore } from '#console/components/show-more.tsx';
import { EmptyState, ErrorState, SkeletonRows } from '#console/components/states.tsx';
import { toast, toastError } from '#console/components/toast.tsx';
import { dateOf } from '#console/lib/format.ts';

/** Who manages the agency besides its owner, and who is invited to. */
export default function CoAdmins() {
  const { t } = useLingui();
  const members = useRead('GET /api/agency/members', {});
  const invitations = useReadPages('GET /api/agency/invitations', {});
  const open = invitations.data?.pages.flatMap((page) => page.invitations);
  return (
    <div className="flex flex-col gap-4">
      <Card title={t`Owner and co-admins`}>
        {members.error && !members.data ? (
          <ErrorState error={members.error} retry={() => void members.refetch()} />
        ) : !members.data ? (
          <SkeletonRows rows={2} />
        ) : (
          <ul aria-label={t`Owner and co-admins`} className="divide-y divide-line">
            {members.data.members.map((member) => (
              <Member key={member.userId} member={member} />
            ))}
          </ul>
        )}
      </Card>
      <Card title={t`Invitations`}>
        <Invite />
        {invitations.error && !open ? (
          <ErrorState error={invitations.error} retry={() => void invitations.refetch()} />
        ) : !open ? (
          <SkeletonRows rows={1} />
        ) : open.length === 0 ? (
          <EmptyState title={t`No open invitations`}>
            <Trans>A co-admin manages all clients. Keys, co-admins and the card remain with the owner.</Trans>
          </EmptyState>
        ) : (
          <ul aria-label={t`Open invitations`} className="divide-y divide-line border-t border-line">
            {open.map((invitation) => (
              <Invitation key={invitation._id} invitation={invitation} />
            ))}
          </ul>
        )}
        <ShowMore read={invitations} />
      </Card>
    </div>
  );
}

function Member({
  member: { userId, name, email, role },
}: {
  member: ResponseOf<'GET /api/agency/members'>['members'][number];
}) {
  const { t } = useLingui();
  const remove = useWrite('DELETE /api/agency/admins/{userId}', { refresh: ['GET /api/agency/members'] });
  const who = name || email;
  return (
    <li className="flex items-center gap-3 px-4 py-3">
      <div className="min-w-0 flex-1">
        <p className="truncate font-medium">{who}</p>
        <p className="truncate text-xs text-muted">{email}</p>
      </div>
      {role === 'owner' ? (
        <Badge tone="accent">
          <Trans>Owner</Trans>
        </Badge>
      ) : (
        <ConfirmButton
          label={t`Remove`}
          title={t`Remove ${who}?`}
          confirm={t`Remove the co-admin`}
          busy={remove.isPending}
          onConfirm={() =>
            remove.mutate(
              { params: { userId } },
              { onSuccess: () => toast(t`${who} was removed`), onError: toastError },
            )
          }
        >
          <Trans>
            They lose access to all clients at once, except where they are a member of a client’s own team.
          </Trans>
        </ConfirmButton>
      )}
    </li>
  );
}

const INVITATIONS = ['GET /api/agency/invitations'] as const;

function Invitation({
  invitation: { _id, email, expiresAt },
}: {
  invitation: ResponseOf<'GET /api/agency/invitations'>['invitations'][number];
}) {
  const { t } = useLingui();
  const zone = useTimeZone();
  const revoke = useWrite('DELETE /api/agency/invitations/{id}', { refresh: INVITATIONS });
  const isExpired = new Date(expiresAt) <= new Date();
  return (
    <li className="flex items-center gap-3 px-4 py-3">
      <div className="min-w-0 flex-1">
        <p className="truncate font-medium">{email}</p>
        <p className="text-xs text-muted">
          {isExpired ? t`Expired` : t`Expires`} {dateOf(expiresAt, zone)}
        </p>
      </div>
      <Button
        small
        kind="danger"
        aria-label={t`Revoke the invitation of ${email}`}
        busy={revoke.isPending}
        onClick={() =>
          revoke.mutate(
            { params: { id: _id } },
            { onSuccess: () => toast(t`The invitation of ${email} was revoked`), onError: toastError },
          )
        }
      >
        <Trans>Revoke</Trans>
      </Button>
    </li>
  );
}

function Invite() {
  const { mutate, isPending, error } = useWrite('POST /api/agency/admins', { refresh: INVITATIONS });
  return (
    <InviteForm
      invite={(email, callbacks) => mutate({ body: { email } }, callbacks)}
      busy={isPending}
      error={error}
    />
  );
}
