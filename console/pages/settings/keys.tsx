import type { MessageDescriptor } from '@lingui/core';
import { msg } from '@lingui/core/macro';
import { Trans, useLingui } from '@lingui/react/macro';
import { KeyRound, Plus } from 'lucide-react';
import { useState } from 'react';
import { useReadPages, useWrite } from '#console/api/queries.ts';
import type { ResponseOf } from '#console/api/routes.ts';
import { useTimeZone } from '#console/api/workspace.ts';
import { Badge } from '#console/components/badge.tsx';
import { Button } from '#console/components/button.tsx';
import { Check } from '#console/components/check.tsx';
import { ConfirmDialog } from '#console/components/confirm.tsx';
import { NearLimit } from '#console/components/near-limit.tsx';
import { Card } from '#console/components/page.tsx';
import { ShowMore } from '#console/components/show-more.tsx';
import { EmptyState, ErrorState, SkeletonRows } from '#console/components/states.tsx';
import { toast, toastError } from '#console/components/toast.tsx';
import { dateOf, relativeTimeOf } from '#console/lib/format.ts';
import { type KeyOwner, KEYS_OF } from '#console/lib/keys.ts';
import { SignedInAdmin } from './access.tsx';
import { CreateKey } from './create-key.tsx';
import { SCOPE_NAMES, type WorkspaceKey } from './key-fields.tsx';
import { RollKey } from './roll-key.tsx';

type AgencyKey = ResponseOf<'GET /api/agency/keys'>['keys'][number];
type Key = AgencyKey & Partial<WorkspaceKey>;

/** The keys with which programs call the API. */
export default function Keys() {
  return (
    <SignedInAdmin what="keys">
      <KeyList owner="workspace" />
    </SignedInAdmin>
  );
}

const USE: Record<KeyOwner, MessageDescriptor> = {
  workspace: msg`A program needs one to call the API of this workspace.`,
  agency: msg`A program needs one to manage the clients of this agency.`,
};

/** The keys of the workspace that is shown, or of the agency. */
export function KeyList({ owner }: { owner: KeyOwner }) {
  const { t } = useLingui();
  const keys = useReadPages(KEYS_OF[owner].list, {});
  const shown = keys.data?.pages.flatMap<WorkspaceKey | AgencyKey>((page) => page.keys);
  const [creating, setCreating] = useState(false);
  const [revoking, setRevoking] = useState<Key | null>(null);
  const [rolling, setRolling] = useState<WorkspaceKey | null>(null);
  const create = (
    <Button
      small
      kind="primary"
      icon={<Plus className="size-4" aria-hidden="true" />}
      onClick={() => setCreating(true)}
    >
      <Trans>Create a key</Trans>
    </Button>
  );
  return (
    <Card title={t`API keys`} actions={create}>
      {owner === 'workspace' && <NearLimit limit="apiKeys" />}
      {keys.error && !shown ? (
        <ErrorState error={keys.error} retry={() => void keys.refetch()} />
      ) : !shown ? (
        <SkeletonRows rows={3} />
      ) : shown.length === 0 ? (
        <EmptyState icon={<KeyRound className="size-5" aria-hidden="true" />} title={t`No API keys yet`}>
          {t(USE[owner])}
        </EmptyState>
      ) : (
        <ul aria-label={t`API keys`} className="divide-y divide-line">
          {shown.map((key) => (
            <Row
              key={key._id}
              apiKey={key}
              revoke={() => setRevoking(key)}
              roll={'scopes' in key ? () => setRolling(key) : null}
            />
          ))}
        </ul>
      )}
      <ShowMore read={keys} />
      {rolling && <RollKey apiKey={rolling} close={() => setRolling(null)} />}
      {creating && <CreateKey owner={owner} close={() => setCreating(false)} />}
      <RevokeKey owner={owner} apiKey={revoking} close={() => setRevoking(null)} />
    </Card>
  );
}

function Row({
  apiKey: { name, prefix, last4, createdAt, lastUsedAt, expiresAt, revokedAt, scopes, allowedIps },
  revoke,
  roll,
}: {
  apiKey: Key;
  revoke: () => void;
  /** null: keys of an agency are not rolled. */
  roll: (() => void) | null;
}) {
  const { t } = useLingui();
  const zone = useTimeZone();
  const isExpired = expiresAt !== null && new Date(expiresAt) <= new Date();
  const created = dateOf(createdAt, zone);
  const used = lastUsedAt !== null && relativeTimeOf(lastUsedAt);
  const expires = expiresAt !== null && dateOf(expiresAt, zone);
  const revoked = revokedAt !== null && dateOf(revokedAt, zone);
  const only = scopes && scopes.length < SCOPE_NAMES.length && scopes.join(', ');
  const networks = allowedIps?.join(', ');
  const notes = [
    t`Created ${created}`,
    used ? t`used ${used}` : t`never used`,
    expires && !isExpired && t`expires ${expires}`,
    only && t`only ${only}`,
    networks && t`from ${networks}`,
  ];
  return (
    <li className="flex items-center gap-3 px-4 py-3">
      <div className="min-w-0 flex-1">
        <p className="flex flex-wrap items-center gap-x-2">
          <span className="truncate font-medium">{name}</span>
          <code className="font-mono text-xs text-muted">
            {prefix}…{last4}
          </code>
        </p>
        <p className="text-xs text-muted">{notes.filter(Boolean).join(' · ')}</p>
      </div>
      {revoked ? (
        <Badge>
          <Trans>Revoked {revoked}</Trans>
        </Badge>
      ) : isExpired ? (
        <Badge tone="warn">
          <Trans>Expired</Trans>
        </Badge>
      ) : (
        <>
          {roll && (
            <Button small aria-label={t`Roll ${name}`} onClick={roll}>
              <Trans>Roll</Trans>
            </Button>
          )}
          <Button small kind="danger" aria-label={t`Revoke ${name}`} onClick={revoke}>
            <Trans>Revoke</Trans>
          </Button>
        </>
      )}
    </li>
  );
}

function RevokeKey({ owner, apiKey, close }: { owner: KeyOwner; apiKey: Key | null; close: () => void }) {
  const { t } = useLingui();
  const { revoke: endpoint, list } = KEYS_OF[owner];
  const shown = apiKey?.name;
  const revoke = useWrite(endpoint, { refresh: [list, 'GET /api/webhooks'] });
  const [endsWebhooks, setEndsWebhooks] = useState(false);
  const confirm = (): void => {
    if (!apiKey) return;
    const { name } = apiKey;
    revoke.mutate(
      { params: { id: apiKey._id }, query: { endWebhooks: endsWebhooks ? 'true' : 'false' } },
      {
        onSuccess: () => toast(t`The key ${name} was revoked`),
        whileShown: close,
        onError: toastError,
      },
    );
  };
  return (
    <ConfirmDialog
      open={apiKey !== null}
      title={shown === undefined ? t`Revoke the key?` : t`Revoke ${shown}?`}
      confirm={t`Revoke the key`}
      busy={revoke.isPending}
      onConfirm={confirm}
      close={close}
    >
      <p>
        <Trans>Programs that use this key are refused from now on. This cannot be undone.</Trans>
      </p>
      <Check
        className="mt-3"
        label={t`Also deactivate the webhooks that it registered, because the key was stolen`}
        checked={endsWebhooks}
        onChange={setEndsWebhooks}
      />
    </ConfirmDialog>
  );
}
