import { Trans, useLingui } from '@lingui/react/macro';
import type { ReactNode } from 'react';
import { useEdits } from '#console/lib/unsent.ts';
import { Button } from './button.tsx';
import { FormError, generalErrorOf, issueOf, TextField } from './field.tsx';
import { KeptForm } from './kept-form.tsx';
import { toast } from './toast.tsx';

const NOBODY = { email: '' };

/** Invites somebody by email. */
export function InviteForm({
  invite,
  busy,
  error,
  role,
}: {
  invite: (email: string, callbacks: { onSuccess: () => void }) => void;
  busy: boolean;
  error: unknown;
  /** A field that chooses the role, where there is more than one. */
  role?: ReactNode;
}) {
  const { t } = useLingui();
  const edits = useEdits(role ? 'invite member' : 'invite', NOBODY);
  const { email } = edits.values;
  return (
    <KeptForm
      edits={edits}
      className="flex flex-col gap-3 p-4"
      onSubmit={(event) => {
        event.preventDefault();
        invite(email, {
          onSuccess: () => {
            toast(t`${email} was invited`);
            edits.discard();
          },
        });
      }}
    >
      <div className="flex flex-col gap-3 sm:flex-row sm:items-start">
        <div className="flex-1">
          <TextField
            label={t`Email address`}
            type="email"
            required
            autoComplete="off"
            value={email}
            onChange={(event) => edits.change({ email: event.target.value })}
            error={issueOf(error, 'email')}
          />
        </div>
        {role && <div className="sm:w-40">{role}</div>}
        <Button kind="primary" type="submit" busy={busy} className="sm:mt-[1.65rem]">
          <Trans>Invite</Trans>
        </Button>
      </div>
      <FormError>{generalErrorOf(error, ['email', 'role'])}</FormError>
    </KeptForm>
  );
}
