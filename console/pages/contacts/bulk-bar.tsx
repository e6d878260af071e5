import { plural, t } from '@lingui/core/macro';
import { Plural, Trans, useLingui } from '@lingui/react/macro';
import { useEffect, useState } from 'react';
import { request } from '#console/api/client.ts';
import type { RequestTo, ResponseOf } from '#console/api/routes.ts';
import { BulkBar } from '#console/components/bulk-bar.tsx';
import { Button } from '#console/components/button.tsx';
import { ConfirmButton } from '#console/components/confirm.tsx';
import { Menu } from '#console/components/menu.tsx';
import { Skeleton } from '#console/components/states.tsx';
import { changeMany } from '#console/lib/bulk-change.ts';
import { type LeadList, LEADS } from './lead.ts';

type Body = RequestTo<'POST /api/leads/bulk'>['body'];
type Result = ResponseOf<'POST /api/leads/bulk'>;
/** The leads that are changed. */
type Whom = Pick<Body, 'leadIds' | 'filter'>;

const REFRESH = [...LEADS, 'GET /api/opt-outs', 'GET /api/leads/{id}/timeline'] as const;

/** What is done with the selected leads, or with all that the list and the search show. */
export default function LeadsBar({
  count,
  whom,
  listId,
  lists,
  selectAll,
  clear,
}: {
  /** null: all that match. */
  count: number | null;
  whom: Whom;
  /** The list that is shown; empty: all leads. */
  listId: string;
  lists: readonly LeadList[];
  selectAll: () => void;
  clear: () => void;
}) {
  const { t } = useLingui();
  const [busy, setBusy] = useState(false);
  const act = async (change: Body['change'], done: string): Promise<void> => {
    setBusy(true);
    if (await changeLeads(whom, change, done)) clear();
    setBusy(false);
  };
  return (
    <BulkBar
      label={t`Selected leads`}
      count={
        count === null ? (
          <Trans>All of them are selected</Trans>
        ) : (
          <Trans context="leads">{count} selected</Trans>
        )
      }
      clear={clear}
    >
      {count !== null && (
        <Button small kind="ghost" onClick={selectAll}>
          <Trans>Select all of them</Trans>
        </Button>
      )}
      <Menu
        trigger={
          <Button small disabled={busy}>
            <Trans>Add to a list</Trans>
          </Button>
        }
        groups={[
          {
            title: t`Lists`,
            items: lists
              .filter(({ _id }) => _id !== listId)
              .map(({ _id, name }) => ({
                label: name,
                onSelect: () => void act({ addToListId: _id }, t`Added to ${name}`),
              })),
          },
        ]}
      />
      {listId !== '' && (
        <Button
          small
          disabled={busy}
          onClick={() => void act({ removeFromListId: listId }, t`Removed from the list`)}
        >
          <Trans>Remove from the list</Trans>
        </Button>
      )}
      <ConfirmButton
        label={t`Opt out`}
        kind="secondary"
        title={t`Opt these contacts out?`}
        confirm={t`Opt them out`}
        busy={busy}
        onConfirm={() => void act({ optOut: true }, t`Opted out`)}
      >
        <Affected whom={whom} change={{ optOut: true }} />
        <p className="mt-2 text-muted">
          <Trans>Nothing is sent to any of their addresses, and what waits for them fails.</Trans>
        </p>
      </ConfirmButton>
      <ConfirmButton
        label={t`Delete`}
        title={t`Delete these leads?`}
        confirm={t`Delete the leads`}
        busy={busy}
        onConfirm={() => void act({ delete: true }, t({ message: 'Deleted', context: 'leads' }))}
      >
        <Affected whom={whom} change={{ delete: true }} />
        <p className="mt-2 text-muted">
          <Trans>
            Their unsent messages are canceled. Their conversations stay. Deleted leads cannot be restored.
          </Trans>
        </p>
      </ConfirmButton>
    </BulkBar>
  );
}

/** How many a change would reach, asked for beforehand. */
function Affected({ whom, change }: { whom: Whom; change: Body['change'] }) {
  const [result, setResult] = useState<Result | Error>();
  const [body] = useState({ ...whom, change, dryRun: true });
  useEffect(() => {
    request('POST /api/leads/bulk', { body }).then(setResult, setResult);
  }, [body]);
  if (!result) return <Skeleton className="h-5 w-40" />;
  if (result instanceof Error) return <p className="text-bad">{result.message}</p>;
  const { changed, hasMore } = result;
  return (
    <p>
      <Plural value={changed} one="# lead is concerned." other="# leads are concerned." />{' '}
      {hasMore && moreText()}
    </p>
  );
}

/** Changes leads, and offers to undo it if that can be undone. @returns whether they were changed. */
const changeLeads = (whom: Whom, change: Body['change'], done: string): Promise<boolean> =>
  changeMany({
    change: () => request('POST /api/leads/bulk', { body: { ...whom, change } }),
    undo: (id) => request('POST /api/leads/bulk/{id}/undo', { params: { id } }),
    done,
    undone: (changed) => t({ message: `Undone: ${changed}`, context: 'leads' }),
    describe,
    refresh: REFRESH,
  });

/** What was left out, and why. */
function describe({ skipped, hasMore }: Result): string {
  const count = (...reasons: Result['skipped'][number]['reason'][]): number =>
    skipped.filter(({ reason }) => reasons.includes(reason)).length;
  const [same, only, rest] = [
    count('unchanged', 'duplicate'),
    count('only_list'),
    skipped.length - count('unchanged', 'duplicate', 'only_list'),
  ];
  const parts = [
    same > 0 && plural(same, { one: '# was so already.', other: '# were so already.' }),
    only > 0 &&
      plural(only, { one: '# stays: it is in no other list.', other: '# stay: they are in no other list.' }),
    rest > 0 && t`Left as they were: ${rest}.`,
    hasMore && moreText(),
  ].filter((part) => part !== false);
  return parts.join(' ');
}

const moreText = (): string => t`There are more than one request changes: repeat it for the rest.`;
