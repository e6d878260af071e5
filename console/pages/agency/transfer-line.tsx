import { Trans, useLingui } from '@lingui/react/macro';
import { useState } from 'react';
import { useWrite } from '#console/api/queries.ts';
import type { ResponseOf } from '#console/api/routes.ts';
import { issueOf, SelectField } from '#console/components/field.tsx';
import { FormDialog } from '#console/components/form-dialog.tsx';
import { toast, toastError } from '#console/components/toast.tsx';
import { type Line, lineName } from '#console/lib/line.ts';

type SubAccount = ResponseOf<'GET /api/agency/subaccounts'>['subAccounts'][number];

/** Moves a line from one client to another. */
export function TransferLine({
  line,
  clients,
  close,
}: {
  line: Line | undefined;
  clients: readonly SubAccount[];
  close: () => void;
}) {
  const { t } = useLingui();
  const [target, setTarget] = useState('');
  const transfer = useWrite('POST /api/agency/lines', {
    refresh: ['GET /api/agency/lines', 'GET /api/agency/subaccounts', 'GET /api/lines/by-user'],
  });
  const move = (lineId: string, targetWorkspaceId: string) => ({
    body: { action: 'transfer' as const, lineId, targetWorkspaceId },
  });
  const from = clients.find(({ idpOrgId }) => idpOrgId === line?.workspaceId);
  const shown = line && lineName(line);
  const owner = from?.name ?? line?.workspaceId;
  const others = clients.filter(({ idpOrgId }) => idpOrgId !== line?.workspaceId);
  const submit = (): void => {
    if (!line) return;
    const undo = (): void => transfer.mutate(move(line._id, line.workspaceId), { onError: toastError });
    transfer.mutate(move(line._id, target), {
      onSuccess: () => {
        const to = clients.find(({ idpOrgId }) => idpOrgId === target);
        const client = to?.name ?? target;
        toast(t`${shown} belongs to ${client} now`, { undo });
      },
      whileShown: close,
    });
  };
  return (
    <FormDialog
      open={line !== undefined}
      onClose={close}
      title={line ? t`Transfer ${shown}` : t`Transfer the line`}
      description={from && t`It belongs to ${owner}.`}
      submit={t`Transfer`}
      busy={transfer.isPending}
      disabled={target === ''}
      error={transfer.error}
      fields={['targetWorkspaceId']}
      onSubmit={submit}
    >
      <SelectField
        label={t`To the client`}
        required
        value={target}
        options={[
          { value: '', label: t`Choose a client` },
          ...others.map(({ idpOrgId, name }) => ({ value: idpOrgId, label: name })),
        ]}
        onChange={(event) => setTarget(event.target.value)}
        error={issueOf(transfer.error, 'targetWorkspaceId')}
      />
      <p className="text-muted">
        <Trans>
          The line keeps today’s usage and its contacts. Messages that were not sent yet stay with {owner} and
          leave through another line.
        </Trans>
      </p>
    </FormDialog>
  );
}
