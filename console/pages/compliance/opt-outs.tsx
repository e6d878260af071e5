import { useLingui } from '@lingui/react/macro';
import { useRead } from '#console/api/queries.ts';
import { Card } from '#console/components/page.tsx';
import { ErrorState, SkeletonRows } from '#console/components/states.tsx';
import { type Column, Table } from '#console/components/table.tsx';
import type { ResponseOf } from '#console/api/routes.ts';
import { useTimeZone } from '#console/api/workspace.ts';
import { dateOf, numberOf, percentOf } from '#console/lib/format.ts';
import { History } from './history.tsx';
import { Suspected } from './suspected.tsx';

/** Who asked for no more messages, in which words, and how many do. */
export default function OptOuts() {
  return (
    <div className="flex flex-col gap-4">
      <Suspected />
      <Weeks />
      <History />
    </div>
  );
}

type Week = ResponseOf<'GET /api/opt-outs/weeks'>['weeks'][number];
const ROW_HEIGHT = 34;

function Weeks() {
  const { t } = useLingui();
  const { data, error, refetch } = useRead('GET /api/opt-outs/weeks', {});
  const zone = useTimeZone();
  const columns: readonly Column<Week>[] = [
    { header: t`Week of`, width: 'minmax(5rem, 1fr)', cell: ({ start }) => dateOf(start, zone) },
    {
      header: t`Opted out`,
      width: 'minmax(4rem, 1fr)',
      right: true,
      cell: ({ optedOut }) => numberOf(optedOut),
    },
    {
      header: t`Opted in`,
      width: 'minmax(4rem, 1fr)',
      right: true,
      wide: true,
      cell: ({ optedIn }) => numberOf(optedIn),
    },
    { header: t`Messages`, width: 'minmax(4rem, 1fr)', right: true, cell: ({ sent }) => numberOf(sent) },
    {
      header: t`Share`,
      width: 'minmax(3.5rem, 1fr)',
      right: true,
      cell: ({ optedOutShare }) => percentOf(optedOutShare),
    },
  ];
  return (
    <Card title={t`By week`} className="overflow-hidden">
      {error && !data ? (
        <ErrorState error={error} retry={() => void refetch()} />
      ) : !data ? (
        <SkeletonRows rows={4} />
      ) : (
        <div className="h-60">
          <Table
            label={t`Opt-outs by week`}
            columns={columns}
            rows={data.weeks.toReversed()}
            rowKey={({ start }) => start}
            rowHeight={ROW_HEIGHT}
          />
        </div>
      )}
    </Card>
  );
}
