import { Trans, useLingui } from '@lingui/react/macro';
import { Link } from '@tanstack/react-router';
import { Phone } from 'lucide-react';
import { useStop } from '#console/api/workspace.ts';
import { Status } from '#console/components/badge.tsx';
import { buttonClasses } from '#console/components/button.tsx';
import { Meter } from '#console/components/meter.tsx';
import { Card } from '#console/components/page.tsx';
import { EmptyState, ErrorState, SkeletonRows } from '#console/components/states.tsx';
import { type Line, lineAddress, lineName, lineState } from '#console/lib/line.ts';

const SHOWN = 6;

export function LinesAtAGlance({
  lines,
  error,
  retry,
}: {
  lines: readonly Line[] | undefined;
  error: unknown;
  retry: () => void;
}) {
  const { t } = useLingui();
  const stop = useStop();
  const count = lines?.length ?? 0;
  const link = (
    <Link to="/lines" className="text-accent-ink hover:underline">
      {count > SHOWN ? t`All ${count}` : t`All lines`}
    </Link>
  );
  return (
    <Card title={t`Lines today`} actions={link}>
      {error && !lines ? (
        <ErrorState error={error} retry={retry} />
      ) : !lines ? (
        <SkeletonRows rows={3} />
      ) : lines.length === 0 ? (
        <EmptyState
          icon={<Phone className="size-5" aria-hidden="true" />}
          title={t`No lines yet`}
          action={
            <Link to="/lines" className={buttonClasses('primary')}>
              <Trans>Request a line</Trans>
            </Link>
          }
        >
          <Trans>Messages leave through a line: a phone number or an email address.</Trans>
        </EmptyState>
      ) : (
        <ul className="divide-y divide-line">
          {lines.slice(0, SHOWN).map((line) => (
            <li key={line._id} className="px-4 py-3">
              <div className="flex items-center justify-between gap-3">
                <div className="min-w-0">
                  <p className="truncate font-medium">{lineName(line)}</p>
                  <p className="truncate text-xs text-muted">{lineAddress(line) ?? t`No address yet`}</p>
                </div>
                <Status status={lineState({ ...line, stop })} />
              </div>
              <div className="mt-2">
                <Meter
                  label={t`Messages`}
                  used={line.usage.totalMessages}
                  limit={line.dailyTotalMessagesLimit}
                />
              </div>
            </li>
          ))}
        </ul>
      )}
    </Card>
  );
}
