import { t } from '@lingui/core/macro';
import { Trans, useLingui } from '@lingui/react/macro';
import { Phone, Plus } from 'lucide-react';
import { useState } from 'react';
import { useLiveInterval } from '#console/api/live.ts';
import { useRead } from '#console/api/queries.ts';
import { useStop } from '#console/api/workspace.ts';
import { Button } from '#console/components/button.tsx';
import { Meter } from '#console/components/meter.tsx';
import { Page } from '#console/components/page.tsx';
import { ReadTable } from '#console/components/read-table.tsx';
import { EmptyState } from '#console/components/states.tsx';
import type { Column } from '#console/components/table.tsx';
import type { Line } from '#console/lib/line.ts';
import { useSearchParam } from '#console/lib/search.ts';
import { lineColumns } from './line-columns.tsx';
import { LineDrawer } from './line-drawer.tsx';
import { useLineFilter } from './line-filter.tsx';
import { RequestLine } from './request-line.tsx';

const REFRESH_MS = 15_000;
const SET_UP_MS = 2000;

const isBeingSetUp = ({ provisioningStatus: status }: Line): boolean =>
  status === 'provisioning' || status === 'awaiting_payment';

function columns(): readonly Column<Line>[] {
  const { line, channel, state, today } = lineColumns();
  const newToday: Column<Line> = {
    header: t`New today`,
    width: 'minmax(8rem, 1fr)',
    wide: true,
    cell: ({ usage }) => (
      <Meter label={t`Conversations`} used={usage.newMessages} limit={usage.newMessagesLimit} />
    ),
  };
  return [line, channel, state, today, newToday];
}

export default function Lines() {
  const { t } = useLingui();
  const live = useLiveInterval();
  const lines = useRead(
    'GET /api/lines/by-user',
    {},
    // No event tells that a line was set up.
    { refetchInterval: (data) => (data?.lines.some(isBeingSetUp) ? SET_UP_MS : live && REFRESH_MS) },
  );
  const [selected, select] = useSearchParam('line');
  const [requesting, setRequesting] = useState(false);
  const stop = useStop();
  const rows: Line[] | undefined = stop
    ? lines.data?.lines.map((line) => ({ ...line, stop }))
    : lines.data?.lines;
  const line = rows?.find(({ _id }) => _id === selected);
  const { shown, isFiltered, filter } = useLineFilter(rows);
  const request = (
    <Button
      kind="primary"
      icon={<Plus className="size-4" aria-hidden="true" />}
      onClick={() => setRequesting(true)}
    >
      <Trans>Request a line</Trans>
    </Button>
  );
  return (
    <Page
      title={t`Lines`}
      description={t`The numbers and addresses that messages leave from`}
      actions={request}
      fill
    >
      {filter}
      <div className="min-h-0 flex-1 border-t border-line bg-surface">
        <ReadTable
          label={t`Lines`}
          columns={columns()}
          read={lines}
          rows={shown}
          rowKey={({ _id }) => _id}
          selected={selected}
          onOpen={({ _id }) => select(_id)}
          empty={
            isFiltered ? (
              <EmptyState title={t`No line is like that`} />
            ) : (
              <EmptyState
                icon={<Phone className="size-5" aria-hidden="true" />}
                title={t`No lines yet`}
                action={request}
              >
                <Trans>
                  Messages leave through a line: a phone number or an email address that keeps its own pace.
                </Trans>
              </EmptyState>
            )
          }
        />
      </div>
      <LineDrawer line={line} close={() => select('')} />
      <RequestLine open={requesting} close={() => setRequesting(false)} onShow={select} />
    </Page>
  );
}
