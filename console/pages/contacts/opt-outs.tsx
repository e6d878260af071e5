import { t } from '@lingui/core/macro';
import { Trans, useLingui } from '@lingui/react/macro';
import { Ban } from 'lucide-react';
import { useMemo, useState } from 'react';
import { useReadPages, useWrite } from '#console/api/queries.ts';
import type { ResponseOf } from '#console/api/routes.ts';
import { Button } from '#console/components/button.tsx';
import { issueOf, TextField } from '#console/components/field.tsx';
import { FormDialog } from '#console/components/form-dialog.tsx';
import { ShortTime } from '#console/components/short-time.tsx';
import { SearchBox } from '#console/components/search-box.tsx';
import { ReadTable } from '#console/components/read-table.tsx';
import { EmptyState } from '#console/components/states.tsx';
import type { Column } from '#console/components/table.tsx';
import { toast, toastError } from '#console/components/toast.tsx';
import { addressName } from '#console/lib/format.ts';
import { useSearchParam } from '#console/lib/search.ts';

type Entry = ResponseOf<'GET /api/opt-outs'>['optOuts'][number];

const REFRESH = ['GET /api/opt-outs', 'GET /api/conversations', 'GET /api/conversations/{address}'] as const;

/** Who or what opted a contact out. */
export const SOURCES: Record<string, string> = {
  get reply() {
    return t`A reply`;
  },
  get unsubscribe() {
    return t`The link in an email`;
  },
  get carrier() {
    return t`The carrier`;
  },
  get complaint() {
    return t`A complaint about an email`;
  },
  get api() {
    return t`The API or console`;
  },
};

const columns = (): readonly Column<Entry>[] => [
  {
    header: t`Address`,
    width: 'minmax(10rem, 2fr)',
    cell: ({ address }) => <span className="font-medium">{addressName(address)}</span>,
  },
  {
    header: t`Opted out by`,
    width: 'minmax(8rem, 1fr)',
    wide: true,
    cell: ({ source }) => SOURCES[source] ?? source,
  },
  {
    header: t`Since`,
    width: '7rem',
    wide: true,
    cell: ({ createdAt }) => <ShortTime at={createdAt} />,
  },
  { header: t`Action`, width: '7rem', right: true, cell: ({ address }) => <OptIn address={address} /> },
];

/** The addresses that get no messages. */
export function OptOuts() {
  const { t } = useLingui();
  const [search, setSearch] = useSearchParam('q');
  const entries = useReadPages(
    'GET /api/opt-outs',
    { query: { ...(search !== '' && { search }) } },
    { keep: true },
  );
  const rows = useMemo(() => entries.data?.pages.flatMap((page) => page.optOuts), [entries.data]);
  return (
    <div className="flex h-full flex-col">
      <div className="flex shrink-0 border-b border-line p-2">
        <SearchBox label={t`Search opt-outs`} value={search} onChange={setSearch} />
      </div>
      <div className="min-h-0 flex-1">
        <ReadTable
          label={t`Opt-outs`}
          rowHeight={48}
          columns={columns()}
          read={entries}
          rows={rows}
          rowKey={({ address }) => address}
          empty={
            search !== '' ? (
              <EmptyState title={t`No opt-out of an address like that`} />
            ) : (
              <EmptyState icon={<Ban className="size-5" aria-hidden="true" />} title={t`No opt-outs`}>
                <Trans>
                  An address is opted out when its contact replies STOP, unsubscribes, or is opted out here.
                </Trans>
              </EmptyState>
            )
          }
        />
      </div>
    </div>
  );
}

function OptIn({ address }: { address: string }) {
  const { t } = useLingui();
  const name = addressName(address);
  const optIn = useWrite('DELETE /api/opt-outs/{address}', { refresh: REFRESH });
  const optOut = useWrite('POST /api/opt-outs', { refresh: REFRESH });
  return (
    <Button
      small
      busy={optIn.isPending}
      aria-label={t`Opt in ${name} again`}
      onClick={() =>
        optIn.mutate(
          { params: { address } },
          {
            onSuccess: () =>
              toast(t`${name} is opted in again`, {
                undo: () => optOut.mutate({ body: { address } }, { onError: toastError }),
              }),
            onError: toastError,
          },
        )
      }
    >
      <Trans>Opt in</Trans>
    </Button>
  );
}

export function AddOptOut({ close }: { close: () => void }) {
  const { t } = useLingui();
  const [address, setAddress] = useState('');
  const optOut = useWrite('POST /api/opt-outs', { refresh: REFRESH });
  const submit = (): void => {
    optOut.mutate(
      { body: { address } },
      {
        onSuccess: ({ optOut: made }) => {
          const name = addressName(made.address);
          toast(t`${name} is opted out`);
        },
        whileShown: close,
      },
    );
  };
  return (
    <FormDialog
      open
      onClose={close}
      title={t`Opt an address out`}
      description={t`It gets no messages any more, and those that have not been sent fail.`}
      submit={t`Opt out`}
      busy={optOut.isPending}
      error={optOut.error}
      fields={['address']}
      onSubmit={submit}
    >
      <TextField
        label={t`Phone number or email address`}
        autoComplete="off"
        value={address}
        onChange={(event) => setAddress(event.target.value)}
        error={issueOf(optOut.error, 'address')}
      />
    </FormDialog>
  );
}
