import { plural } from '@lingui/core/macro';
import { Trans, useLingui } from '@lingui/react/macro';
import { RotateCcw } from 'lucide-react';
import { useState } from 'react';
import { request, serverTime } from '#console/api/client.ts';
import { refreshReads } from '#console/api/queries.ts';
import type { ResponseOf } from '#console/api/routes.ts';
import { ConfirmButton } from '#console/components/confirm.tsx';
import { SelectField } from '#console/components/field.tsx';
import { toast, toastError } from '#console/components/toast.tsx';
import type { Webhook } from './webhook.ts';

const HOUR_MS = 3_600_000;

/** Sends again what has failed since a time, to the current URL. */
export function ReplayFailed({ webhook }: { webhook: Webhook }) {
  const { t } = useLingui();
  const [hours, setHours] = useState('24');
  const [busy, setBusy] = useState(false);
  const replay = async (): Promise<void> => {
    setBusy(true);
    const since = new Date(serverTime().getTime() - Number(hours) * HOUR_MS).toISOString();
    let queued = 0;
    let cursor: string | null = null;
    try {
      do {
        const replayed: ResponseOf<'POST /api/webhooks/{id}/replay'> = await request(
          'POST /api/webhooks/{id}/replay',
          {
            params: { id: webhook._id },
            body: { since, onlyFailed: true, ...(cursor !== null && { cursor }) },
          },
        );
        queued += replayed.queued;
        cursor = replayed.nextCursor;
      } while (cursor !== null);
      toast(
        queued === 0
          ? t`Nothing has failed in this time`
          : plural(queued, { one: '# event is sent again', other: '# events are sent again' }),
      );
    } catch (error) {
      toastError(error);
    }
    setBusy(false);
    await refreshReads(['GET /api/webhooks/{id}/deliveries', 'GET /api/webhooks', 'GET /api/webhooks/{id}']);
  };
  return (
    <ConfirmButton
      kind="secondary"
      label={t`Replay all failed`}
      icon={<RotateCcw className="size-4" aria-hidden="true" />}
      title={t`Send again what has failed?`}
      confirm={t`Replay`}
      busy={busy}
      onConfirm={() => void replay()}
    >
      <p className="mb-4">
        <Trans>
          Each event is sent once more to the current URL, oldest first, with its original ID, also if it was
          replayed before.
        </Trans>
      </p>
      <SelectField
        label={t`Failed in the`}
        value={hours}
        options={[
          { value: '1', label: t`Last hour` },
          { value: '24', label: t`Last 24 hours` },
          { value: '168', label: t`Last 7 days` },
          { value: '720', label: t`Last 30 days` },
        ]}
        onChange={(event) => setHours(event.target.value)}
      />
    </ConfirmButton>
  );
}
