import { t } from '@lingui/core/macro';
import { Status } from '#console/components/badge.tsx';
import { Meter } from '#console/components/meter.tsx';
import type { Column } from '#console/components/table.tsx';
import { CHANNELS, type Line, lineAddress, lineName, lineState } from '#console/lib/line.ts';

export const lineColumns = () =>
  ({
    line: {
      header: t`Line`,
      width: 'minmax(10rem, 2fr)',
      cell: (line: Line) => (
        <>
          <p className="truncate font-medium">{lineName(line)}</p>
          <p className="truncate text-xs text-muted">{lineAddress(line) ?? t`No address yet`}</p>
        </>
      ),
    },
    channel: {
      header: t`Channel`,
      width: '6rem',
      wide: true,
      cell: (line: Line) => CHANNELS[line.requestedChannelType],
    },
    state: { header: t`State`, width: '9rem', cell: (line: Line) => <Status status={lineState(line)} /> },
    today: {
      header: t`Today`,
      width: 'minmax(8rem, 1fr)',
      wide: true,
      cell: (line: Line) => (
        <Meter label={t`Messages`} used={line.usage.totalMessages} limit={line.dailyTotalMessagesLimit} />
      ),
    },
  }) satisfies Record<string, Column<Line>>;
