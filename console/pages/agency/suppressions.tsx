import { t } from '@lingui/core/macro';
import { Trans, useLingui } from '@lingui/react/macro';
import { Plus, ShieldOff } from 'lucide-react';
import { useMemo, useState } from 'react';
import { useReadPages, useWrite } from '#console/api/queries.ts';
import type { ResponseOf } from '#console/api/routes.ts';
import { Button } from '#console/components/button.tsx';
import { issueOf, TextAreaField, TextField } from '#console/components/field.tsx';
import { FormDialog } from '#console/components/form-dialog.tsx';
import { Card } from '#console/components/page.tsx';
import { ReadTable } from '#console/components/read-table.tsx';
import { ShortTime } from '#console/components/short-time.tsx';
import { EmptyState } from '#console/components/states.tsx';
import type { Column } from '#console/components/table.tsx';
import { toast, toastError } from '#console/components/toast.tsx';
import { addressName } from '#console/lib/format.ts';

type Entry = ResponseOf<'GET /api/agency/suppressions'>['suppressions'][number];

const LIST = 'GET /api/agency/suppressions';
const FIELDS = ['address', 'domain', 'reason', 'csv'];

const nameOf = ({ address, domain }: Entry): string =>
  address === null ? `@${domain}` : addressName(address);

const columns = (): readonly Column<Entry>[] => [
  {
    header: t`Address or domain`,
    width: 'minmax(10rem, 2fr)',
    cell: (entry) => <span className="font-medium">{nameOf(entry)}</span>,
  },
  { header: t`Reason`, width: 'minmax(8rem, 2fr)', wide: true, cell: ({ reason }) => reason ?? '–' },
  { header: t`Since`, width: '7rem', wide: true, cell: ({ createdAt }) => <ShortTime at={createdAt} /> },
  { header: t`Action`, width: '7rem', right: true, cell: (entry) => <Remove entry={entry} /> },
];

/** The addresses and domains to which no client of the agency sends. */
export default function Suppressions() {
  const { t } = useLingui();
  const entries = useReadPages(LIST, {});
  const rows = useMemo(() => entries.data?.pages.flatMap((page) => page.suppressions), [entries.data]);
  const [adding, setAdding] = useState(false);
  return (
    <Card
      title={t`Suppressed for all clients`}
      actions={
        <Button small icon={<Plus className="size-4" aria-hidden="true" />} onClick={() => setAdding(true)}>
          <Trans>Suppress</Trans>
        </Button>
      }
      className="overflow-hidden"
    >
      <div className="h-[60vh] min-h-80">
        <ReadTable
          label={t`Suppressions`}
          rowHeight={48}
          columns={columns()}
          read={entries}
          rows={rows}
          rowKey={nameOf}
          empty={
            <EmptyState
              icon={<ShieldOff className="size-5" aria-hidden="true" />}
              title={t`Nothing is suppressed`}
            >
              <Trans>No client sends to what is suppressed here, whatever its lists and campaigns say.</Trans>
            </EmptyState>
          }
        />
      </div>
      {adding && <Add close={() => setAdding(false)} />}
    </Card>
  );
}

function Remove({ entry }: { entry: Entry }) {
  const { t } = useLingui();
  const name = nameOf(entry);
  const { address, domain, reason } = entry;
  const query = address === null ? { domain: domain ?? '' } : { address };
  const remove = useWrite('DELETE /api/agency/suppressions', { refresh: [LIST] });
  const add = useWrite('POST /api/agency/suppressions', { refresh: [LIST] });
  return (
    <Button
      small
      busy={remove.isPending}
      aria-label={t`Remove ${name}`}
      onClick={() =>
        remove.mutate(
          { query, body: {} },
          {
            onSuccess: () =>
              toast(t`${name} is not suppressed any more`, {
                undo: () =>
                  add.mutate(
                    { body: { ...query, ...(reason !== null && { reason }) } },
                    { onError: toastError },
                  ),
              }),
            onError: toastError,
          },
        )
      }
    >
      <Trans>Remove</Trans>
    </Button>
  );
}

function Add({ close }: { close: () => void }) {
  const { t } = useLingui();
  const [text, setText] = useState('');
  const [reason, setReason] = useState('');
  const add = useWrite('POST /api/agency/suppressions', { refresh: [LIST] });
  const names = text
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '');
  const submit = (): void =>
    add.mutate(
      // As a CSV file: a reason may have commas and quotation marks.
      { body: { csv: names.map((name) => [name, quoted(reason)].filter(Boolean).join(',')).join('\n') } },
      {
        onSuccess: ({ count }) => toast(t`Suppressed: ${count}`),
        whileShown: close,
      },
    );
  return (
    <FormDialog
      open
      onClose={close}
      title={t`Suppress for all clients`}
      description={t`Messages to them fail in every client, also those that wait.`}
      submit={t`Suppress`}
      busy={add.isPending}
      disabled={names.length === 0}
      error={add.error}
      fields={FIELDS}
      onSubmit={submit}
    >
      <TextAreaField
        label={t`Addresses and domains`}
        hint={t`One on each line: a number with its country code, an email address or a domain.`}
        value={text}
        onChange={(event) => setText(event.target.value)}
        error={issueOf(add.error, 'csv')}
      />
      <TextField
        label={t`Reason (optional)`}
        value={reason}
        onChange={(event) => setReason(event.target.value)}
        error={issueOf(add.error, 'reason')}
      />
    </FormDialog>
  );
}

const quoted = (text: string): string => (text.trim() === '' ? '' : `"${text.trim().replaceAll('"', '""')}"`);
