import { useLingui } from '@lingui/react/macro';
import { msg } from '@lingui/core/macro';
import { Lock } from 'lucide-react';
import type { ReactNode } from 'react';
import { useIdentity, useIsAdmin } from '#console/api/workspace.ts';
import { EmptyState } from '#console/components/states.tsx';

const REASONS = {
  keys: {
    key: msg`You are signed in with an API key. API keys are listed, created and revoked with a user’s session only.`,
    member: msg`API keys are listed, created and revoked by an owner or admin of the workspace only.`,
  },
  auditLog: {
    key: msg`You are signed in with an API key. The audit log can be read with a user’s session only.`,
    member: msg`The audit log can be read by an owner or admin of the workspace only.`,
  },
};

/** What the API shows only to signed-in admins, never to a key. */
export function SignedInAdmin({ what, children }: { what: keyof typeof REASONS; children: ReactNode }) {
  const { t } = useLingui();
  const { caller } = useIdentity();
  const isAdmin = useIsAdmin();
  const icon = <Lock className="size-5" aria-hidden="true" />;
  if (caller.type === 'key') {
    return (
      <EmptyState icon={icon} title={t`This needs a signed-in user`}>
        {t(REASONS[what].key)}
      </EmptyState>
    );
  }
  if (!isAdmin) {
    return (
      <EmptyState icon={icon} title={t`For admins`}>
        {t(REASONS[what].member)}
      </EmptyState>
    );
  }
  return children;
}
