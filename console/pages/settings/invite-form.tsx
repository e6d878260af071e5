import { type FormEvent, useState } from 'react';
import { useWrite } from '#console/api/queries.ts';
import type { ResponseOf } from '#console/api/routes.ts';
import { Button } from '#console/components/button.tsx';
import { FormError, generalErrorOf, issueOf, SelectField, TextField } from '#console/components/field.tsx';
import { toast } from '#console/components/toast.tsx';

type Role = ResponseOf<'GET /api/team/members'>['members'][number]['role'];

export const ROLES: Record<Role, string> = { 'org:admin': 'Admin', 'org:member': 'Member' };
const ROLE_OPTIONS = Object.entries(ROLES).map(([value, label]) => ({ value, label }));

/** Invites somebody to the workspace by email. */
export function InviteForm() {
  const [email, setEmail] = useState('');
  const [role, setRole] = useState<Role>('org:member');
  const invite = useWrite('POST /api/team/invite', { refresh: ['GET /api/team/invitations'] });
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    invite.mutate(
      { body: { email, role } },
      {
        onSuccess: ({ invitation }) => {
          toast(`${invitation.email} was invited`);
          setEmail('');
        },
      },
    );
  };
  return (
    <form className="flex flex-col gap-3 p-4" onSubmit={submit}>
      <div className="grid gap-3 sm:grid-cols-[1fr_10rem_auto] sm:items-start">
        <TextField
          label="Email address"
          type="email"
          required
          autoComplete="off"
          value={email}
          onChange={(event) => setEmail(event.target.value)}
          error={issueOf(invite.error, 'email')}
        />
        <SelectField
          label="Role"
          value={role}
          options={ROLE_OPTIONS}
          onChange={(event) => setRole(event.target.value as Role)}
          error={issueOf(invite.error, 'role')}
        />
        <Button kind="primary" type="submit" busy={invite.isPending} className="sm:mt-[1.65rem]">
          Invite
        </Button>
      </div>
      <FormError>{generalErrorOf(invite.error, ['email', 'role'])}</FormError>
    </form>
  );
}
