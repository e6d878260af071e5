import { KeyRound, Plus } from 'lucide-react';
import { useState } from 'react';
import { useRead, useWrite } from '#console/api/queries.ts';
import type { ResponseOf } from '#console/api/routes.ts';
import { useTimeZone } from '#console/api/workspace.ts';
import { Badge } from '#console/components/badge.tsx';
import { Button } from '#console/components/button.tsx';
import { ConfirmDialog } from '#console/components/confirm.tsx';
import { NearLimit } from '#console/components/near-limit.tsx';
import { Card } from '#console/components/page.tsx';
import { EmptyState, ErrorState, SkeletonRows } from '#console/components/states.tsx';
import { toast, toastError } from '#console/components/toast.tsx';
import { dateOf, relativeTimeOf } from '#console/lib/format.ts';
import { type KeyOwner, KEYS_OF } from '#console/lib/keys.ts';
import { SignedInAdmin } from './access.tsx';
import { CreateKey } from './create-key.tsx';
import { SCOPES, type WorkspaceKey } from './key-fields.tsx';
import { RollKey } from './roll-key.tsx';

type Key = ResponseOf<'GET /api/agency/keys'>['keys'][number] & Partial<WorkspaceKey>;

/** The keys with which programs call the API. */
export const Keys = () => (
  <SignedInAdmin what="API keys are listed, created and revoked">
    <KeyList owner="workspace" />
  </SignedInAdmin>
);

const USE: Record<KeyOwner, string> = {
  workspace: 'A program needs one to call the API of this workspace.',
  agency: 'A program needs one to manage the clients of this agency.',
};

/** The keys of the workspace that is shown, or of the agency. */
export function KeyList({ owner }: { owner: KeyOwner }) {
  const keys = useRead(KEYS_OF[owner].list, {});
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
      Create a key
    </Button>
  );
  return (
    <Card title="API keys" actions={create}>
      {owner === 'workspace' && <NearLimit limit="apiKeys" />}
      {keys.error ? (
        <ErrorState error={keys.error} retry={() => void keys.refetch()} />
      ) : !keys.data ? (
        <SkeletonRows rows={3} />
      ) : keys.data.keys.length === 0 ? (
        <EmptyState icon={<KeyRound className="size-5" aria-hidden="true" />} title="No API keys yet">
          {USE[owner]}
        </EmptyState>
      ) : (
        <ul aria-label="API keys" className="divide-y divide-line">
          {keys.data.keys.map((key) => (
            <Row
              key={key._id}
              apiKey={key}
              revoke={() => setRevoking(key)}
              roll={'scopes' in key ? () => setRolling(key) : null}
            />
          ))}
        </ul>
      )}
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
  const zone = useTimeZone();
  const isExpired = expiresAt !== null && new Date(expiresAt) <= new Date();
  const notes = [
    `Created ${dateOf(createdAt, zone)}`,
    lastUsedAt === null ? 'never used' : `used ${relativeTimeOf(lastUsedAt)}`,
    expiresAt !== null && !isExpired && `expires ${dateOf(expiresAt, zone)}`,
    scopes && scopes.length < Object.keys(SCOPES).length && `only ${scopes.join(', ')}`,
    allowedIps && `from ${allowedIps.join(', ')}`,
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
      {revokedAt !== null ? (
        <Badge>Revoked {dateOf(revokedAt, zone)}</Badge>
      ) : isExpired ? (
        <Badge tone="warn">Expired</Badge>
      ) : (
        <>
          {roll && (
            <Button small aria-label={`Roll ${name}`} onClick={roll}>
              Roll
            </Button>
          )}
          <Button small kind="danger" aria-label={`Revoke ${name}`} onClick={revoke}>
            Revoke
          </Button>
        </>
      )}
    </li>
  );
}

function RevokeKey({ owner, apiKey, close }: { owner: KeyOwner; apiKey: Key | null; close: () => void }) {
  const { revoke: endpoint, list, log } = KEYS_OF[owner];
  const revoke = useWrite(endpoint, { refresh: [list, log] });
  const confirm = (): void => {
    if (!apiKey) return;
    revoke.mutate(
      { params: { id: apiKey._id } },
      {
        onSuccess: () => {
          toast(`The key ${apiKey.name} was revoked`);
          close();
        },
        onError: toastError,
      },
    );
  };
  return (
    <ConfirmDialog
      open={apiKey !== null}
      title={`Revoke ${apiKey?.name ?? 'the key'}?`}
      confirm="Revoke the key"
      busy={revoke.isPending}
      onConfirm={confirm}
      close={close}
    >
      <p>Programs that use this key are refused from now on. This cannot be undone.</p>
    </ConfirmDialog>
  );
}
