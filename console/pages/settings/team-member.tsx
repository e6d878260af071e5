import type { MessageDescriptor } from '@lingui/core';
import { msg } from '@lingui/core/macro';
import { Trans, useLingui } from '@lingui/react/macro';
import { useState } from 'react';
import { useWrite } from '#console/api/queries.ts';
import type { ResponseOf } from '#console/api/routes.ts';
import { useTimeZone } from '#console/api/workspace.ts';
import { Badge } from '#console/components/badge.tsx';
import { Button } from '#console/components/button.tsx';
import { Check } from '#console/components/check.tsx';
import { ConfirmDialog } from '#console/components/confirm.tsx';
import { toast, toastError } from '#console/components/toast.tsx';
import { dateOf } from '#console/lib/format.ts';

export type Member = ResponseOf<'GET /api/team'>['members'][number];
export type Role = Member['role'];

export const ROLES: Record<Role, MessageDescriptor> = { 'org:admin': msg`Admin`, 'org:member': msg`Member` };

/** A member, whose role an admin may change, and whom an admin may remove. */
export function TeamMember({ member, canChange }: { member: Member; canChange: boolean }) {
  const { t } = useLingui();
  const { userId, name, email, role, isOwner, joinedAt } = member;
  const zone = useTimeZone();
  const joined = dateOf(joinedAt, zone);
  const shown = name || email || userId;
  const [isRemoving, setIsRemoving] = useState(false);
  // The member may be the user, whose own role decides what the console offers.
  const update = useWrite('PATCH /api/team/{userId}', { refresh: ['GET /api/team', 'GET /api/workspace'] });
  return (
    <li className="flex items-center gap-3 px-4 py-3">
      <div className="min-w-0 flex-1">
        <p className="truncate font-medium">{shown}</p>
        <p className="truncate text-xs text-muted">
          {email && `${email} · `}
          <Trans>joined {joined}</Trans>
        </p>
      </div>
      {isOwner || !canChange ? (
        <Badge tone={isOwner ? 'accent' : 'neutral'}>{isOwner ? t`Owner` : t(ROLES[role])}</Badge>
      ) : (
        <>
          <select
            aria-label={t`Role of ${shown}`}
            className="rounded-md border border-line bg-surface px-2 py-1 text-sm"
            value={role}
            disabled={update.isPending}
            onChange={({ target }) =>
              update.mutate(
                { params: { userId }, body: { role: target.value as Role } },
                { onSuccess: () => toast(t`${shown} has another role now`), onError: toastError },
              )
            }
          >
            {Object.entries(ROLES).map(([value, label]) => (
              <option key={value} value={value}>
                {t(label)}
              </option>
            ))}
          </select>
          <Button small kind="danger" aria-label={t`Remove ${shown}`} onClick={() => setIsRemoving(true)}>
            <Trans>Remove</Trans>
          </Button>
          <RemoveMember userId={userId} shown={shown} open={isRemoving} close={() => setIsRemoving(false)} />
        </>
      )}
    </li>
  );
}

function RemoveMember({
  userId,
  shown,
  open,
  close,
}: {
  userId: string;
  shown: string;
  open: boolean;
  close: () => void;
}) {
  const { t } = useLingui();
  const [revokesKeys, setRevokesKeys] = useState(true);
  const remove = useWrite('DELETE /api/team/{userId}', { refresh: ['GET /api/team', 'GET /api/keys'] });
  const confirm = (): void =>
    remove.mutate(
      { params: { userId }, query: { revokeKeys: revokesKeys ? 'true' : 'false' } },
      {
        onSuccess: () => toast(t`${shown} was removed`),
        whileShown: close,
        onError: toastError,
      },
    );
  return (
    <ConfirmDialog
      open={open}
      title={t`Remove ${shown}?`}
      confirm={t`Remove the member`}
      busy={remove.isPending}
      onConfirm={confirm}
      close={close}
    >
      <p>
        <Trans>They can no longer sign in to this workspace. You can invite them again.</Trans>
      </p>
      <Check
        className="mt-3"
        label={t`Revoke the API keys that they created`}
        checked={revokesKeys}
        onChange={setRevokesKeys}
      />
    </ConfirmDialog>
  );
}
