import { Trans, useLingui } from '@lingui/react/macro';
import { useState } from 'react';
import { useRead, useReadPages, useWrite } from '#console/api/queries.ts';
import type { ResponseOf } from '#console/api/routes.ts';
import { useTimeZone, useIsAdmin } from '#console/api/workspace.ts';
import { Button } from '#console/components/button.tsx';
import { ConfirmDialog } from '#console/components/confirm.tsx';
import { issueOf, SelectField } from '#console/components/field.tsx';
import { InviteForm } from '#console/components/invite-form.tsx';
import { Card } from '#console/components/page.tsx';
import { ShowMore } from '#console/components/show-more.tsx';
import { EmptyState, ErrorState, SkeletonRows } from '#console/components/states.tsx';
import { toast, toastError } from '#console/components/toast.tsx';
import { dateOf } from '#console/lib/format.ts';
import { type Role, ROLES, TeamMember } from './team-member.tsx';
import { WorkspaceProfile } from './workspace-profile.tsx';

type Invitation = ResponseOf<'GET /api/team/invitations'>['invitations'][number];

/** Who belongs to the workspace, and who is invited. */
export function Team() {
  const { t } = useLingui();
  const isAdmin = useIsAdmin();
  const members = useRead('GET /api/team', {});
  const invitations = useReadPages('GET /api/team/invitations', {});
  const open = invitations.data?.pages
    .flatMap((page) => page.invitations)
    .filter(({ acceptedAt }) => acceptedAt === null);
  return (
    <div className="flex flex-col gap-4">
      {isAdmin && <WorkspaceProfile />}
      <Card title={t`Members`}>
        {members.error && !members.data ? (
          <ErrorState error={members.error} retry={() => void members.refetch()} />
        ) : !members.data ? (
          <SkeletonRows rows={2} />
        ) : (
          <ul aria-label={t`Members`} className="divide-y divide-line">
            {members.data.members.map((member) => (
              <TeamMember key={member.userId} member={member} canChange={isAdmin} />
            ))}
          </ul>
        )}
      </Card>
      <Card title={t`Invitations`}>
        {isAdmin && <Invite />}
        {invitations.error && !open ? (
          <ErrorState error={invitations.error} retry={() => void invitations.refetch()} />
        ) : !open ? (
          <SkeletonRows rows={1} />
        ) : open.length === 0 ? (
          <EmptyState title={t`No open invitations`} />
        ) : (
          <OpenInvitations invitations={open} canRevoke={isAdmin} />
        )}
        <ShowMore read={invitations} />
      </Card>
    </div>
  );
}

/** Invites somebody into the workspace. */
export function Invite() {
  const { t } = useLingui();
  const [role, setRole] = useState<Role>('org:member');
  const { mutate, isPending, error } = useWrite('POST /api/team/invite', {
    refresh: ['GET /api/team/invitations'],
  });
  return (
    <InviteForm
      invite={(email, callbacks) => mutate({ body: { email, role } }, callbacks)}
      busy={isPending}
      error={error}
      role={
        <SelectField
          label={t`Role`}
          value={role}
          options={Object.entries(ROLES).map(([value, name]) => ({ value, label: t(name) }))}
          onChange={(event) => setRole(event.target.value as Role)}
          error={issueOf(error, 'role')}
        />
      }
    />
  );
}

function OpenInvitations({
  invitations,
  canRevoke,
}: {
  invitations: readonly Invitation[];
  canRevoke: boolean;
}) {
  const { t } = useLingui();
  const zone = useTimeZone();
  const [revoking, setRevoking] = useState<Invitation | null>(null);
  const invited = revoking?.email;
  const revoke = useWrite('DELETE /api/team/invitations/{id}', { refresh: ['GET /api/team/invitations'] });
  const confirm = (): void => {
    if (!revoking) return;
    const { email } = revoking;
    revoke.mutate(
      { params: { id: revoking._id } },
      {
        onSuccess: () => {
          toast(t`The invitation of ${email} was revoked`);
          setRevoking(null);
        },
        onError: toastError,
      },
    );
  };
  return (
    <>
      <ul aria-label={t`Open invitations`} className="divide-y divide-line border-t border-line">
        {invitations.map((invitation) => {
          const { _id, email, role, expiresAt } = invitation;
          const date = dateOf(expiresAt, zone);
          const isExpired = new Date(expiresAt) <= new Date();
          return (
            <li key={_id} className="flex items-center gap-3 px-4 py-3">
              <div className="min-w-0 flex-1">
                <p className="truncate font-medium">{email}</p>
                <p className="text-xs text-muted">
                  {t(ROLES[role])} · {isExpired ? t`expired ${date}` : t`expires ${date}`}
                </p>
              </div>
              {canRevoke && (
                <Button
                  small
                  kind="danger"
                  aria-label={t`Revoke the invitation of ${email}`}
                  onClick={() => setRevoking(invitation)}
                >
                  <Trans>Revoke</Trans>
                </Button>
              )}
            </li>
          );
        })}
      </ul>
      <ConfirmDialog
        open={revoking !== null}
        title={t`Revoke the invitation?`}
        confirm={t`Revoke the invitation`}
        busy={revoke.isPending}
        onConfirm={confirm}
        close={() => setRevoking(null)}
      >
        <p>
          <Trans>The link sent to {invited} stops working. You can invite the same address again.</Trans>
        </p>
      </ConfirmDialog>
    </>
  );
}
