import { startRegistration, WebAuthnError } from '@simplewebauthn/browser';
import { Trans, useLingui } from '@lingui/react/macro';
import { KeyRound } from 'lucide-react';
import { useState } from 'react';

import { request } from '#console/api/client.ts';
import { keyOf, queryClient, useRead, useWrite } from '#console/api/queries.ts';
import type { ResponseOf } from '#console/api/routes.ts';
import { useTimeZone } from '#console/api/workspace.ts';
import { Button } from '#console/components/button.tsx';
import { TextField } from '#console/components/field.tsx';
import { FormDialog } from '#console/components/form-dialog.tsx';
import { Card } from '#console/components/page.tsx';
import { ErrorState, SkeletonRows } from '#console/components/states.tsx';
import { toast, toastError } from '#console/components/toast.tsx';
import { browserName } from '#console/lib/browser-name.ts';
import { fullTimeOf, relativeTimeOf } from '#console/lib/format.ts';

type Passkey = ResponseOf<'GET /api/passkeys'>['passkeys'][number];

const REFRESH = ['GET /api/passkeys'] as const;

/** The passkeys with which the user signs in here. Nothing where people sign in at an identity provider. */
export function Passkeys() {
  const { t } = useLingui();
  const { data, error, refetch } = useRead('GET /api/passkeys', {});
  if (data && !data.available) return null;
  return (
    <Card title={t`Passkeys`} actions={data && <AddPasskey />}>
      {error && !data ? (
        <ErrorState error={error} retry={() => void refetch()} />
      ) : !data ? (
        <SkeletonRows rows={1} />
      ) : data.passkeys.length === 0 ? (
        <p className="px-4 py-3 text-muted">
          <Trans>
            Sign in with your fingerprint, your face or a security key in place of a link by email. You can
            have several.
          </Trans>
        </p>
      ) : (
        <ul aria-label={t`Passkeys`} className="divide-y divide-line">
          {data.passkeys.map((passkey) => (
            <Row key={passkey._id} passkey={passkey} />
          ))}
        </ul>
      )}
    </Card>
  );
}

function Row({ passkey: { _id, name, createdAt, lastUsedAt } }: { passkey: Passkey }) {
  const { t } = useLingui();
  const zone = useTimeZone();
  const remove = useWrite('DELETE /api/passkeys/{id}', { refresh: REFRESH });
  const added = fullTimeOf(createdAt, zone);
  const used = lastUsedAt === null ? null : relativeTimeOf(lastUsedAt);
  return (
    <li className="flex items-center gap-3 px-4 py-3">
      <KeyRound className="size-4 text-muted" aria-hidden="true" />
      <div className="min-w-0 flex-1">
        <p className="truncate font-medium">{name}</p>
        <p className="text-xs text-muted">
          {used === null ? (
            <Trans>Added {added} · not used yet</Trans>
          ) : (
            <Trans>
              Added {added} · used {used}
            </Trans>
          )}
        </p>
      </div>
      <Button
        small
        kind="danger"
        busy={remove.isPending}
        aria-label={t`Remove the passkey: ${name}`}
        onClick={() =>
          remove.mutate(
            { params: { id: _id } },
            { onSuccess: () => toast(t`The passkey was removed`), onError: toastError },
          )
        }
      >
        <Trans>Remove</Trans>
      </Button>
    </li>
  );
}

function AddPasskey() {
  const { t } = useLingui();
  const [isOpen, setOpen] = useState(false);
  const [name, setName] = useState('');
  const [failure, setFailure] = useState<unknown>(null);
  const [isAsking, setAsking] = useState(false);

  const submit = async (): Promise<void> => {
    setAsking(true);
    setFailure(null);
    try {
      const { options } = await request('POST /api/passkeys/options', {});
      const response = await startRegistration({
        optionsJSON: options as unknown as Parameters<typeof startRegistration>[0]['optionsJSON'],
      });
      await request('POST /api/passkeys', { body: { name, response: response as never } });
      await queryClient.invalidateQueries({ queryKey: keyOf('GET /api/passkeys') });
      toast(t`The passkey was added`);
      setOpen(false);
    } catch (error) {
      setFailure(
        error instanceof WebAuthnError ? new Error(t`The passkey was not added. Try again.`) : error,
      );
    } finally {
      setAsking(false);
    }
  };

  return (
    <>
      <Button
        small
        onClick={() => {
          setName(browserName(navigator.userAgent));
          setFailure(null);
          setOpen(true);
        }}
      >
        <Trans>Add a passkey</Trans>
      </Button>
      <FormDialog
        open={isOpen}
        onClose={() => setOpen(false)}
        title={t`Add a passkey`}
        submit={t`Continue`}
        busy={isAsking}
        disabled={name.trim() === ''}
        error={failure}
        fields={['name']}
        onSubmit={() => void submit()}
      >
        <TextField
          label={t`Name`}
          hint={t`So that you recognize it in the list.`}
          value={name}
          maxLength={100}
          onChange={(event) => setName(event.target.value)}
          required
        />
      </FormDialog>
    </>
  );
}
