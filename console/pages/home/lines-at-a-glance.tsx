import { Link } from '@tanstack/react-router';
import { Phone } from 'lucide-react';
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
  const link = (
    <Link to="/lines" className="text-accent-ink hover:underline">
      {lines && lines.length > SHOWN ? `All ${lines.length}` : 'All lines'}
    </Link>
  );
  return (
    <Card title="Lines today" actions={link}>
      {error ? (
        <ErrorState error={error} retry={retry} />
      ) : !lines ? (
        <SkeletonRows rows={3} />
      ) : lines.length === 0 ? (
        <EmptyState
          icon={<Phone className="size-5" aria-hidden="true" />}
          title="No lines yet"
          action={
            <Link to="/lines" className={buttonClasses('primary')}>
              Request a line
            </Link>
          }
        >
          Messages leave through a line: a phone number or an email address.
        </EmptyState>
      ) : (
        <ul className="divide-y divide-line">
          {lines.slice(0, SHOWN).map((line) => (
            <li key={line._id} className="px-4 py-3">
              <div className="flex items-center justify-between gap-3">
                <div className="min-w-0">
                  <p className="truncate font-medium">{lineName(line)}</p>
                  <p className="truncate text-xs text-muted">{lineAddress(line) ?? 'No address yet'}</p>
                </div>
                <Status status={lineState(line)} />
              </div>
              <div className="mt-2">
                <Meter
                  label="Messages"
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
