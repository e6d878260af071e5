import { Trans, useLingui } from '@lingui/react/macro';
import { lazy, Suspense, useMemo, useState } from 'react';
import { useLiveInterval } from '#console/api/live.ts';
import { useRead, useWrite } from '#console/api/queries.ts';
import { useIdentity, useIsAdmin } from '#console/api/workspace.ts';
import { Button } from '#console/components/button.tsx';
import { Card, Page } from '#console/components/page.tsx';
import { ErrorState, Skeleton, SkeletonRows } from '#console/components/states.tsx';
import { toastError } from '#console/components/toast.tsx';
import { capitalised, dayOf, longDateOf, numberOf, percentOf } from '#console/lib/format.ts';
import { pagePart } from '#console/lib/page-part.ts';
import { useTestClock } from '#console/lib/test-clock.ts';
import { workspaceNow } from '#console/lib/workspace-time.ts';
import { Attention } from './attention.tsx';
import { LinesAtAGlance } from './lines-at-a-glance.tsx';

const Plot = lazy(() => import('#console/components/plot.tsx'));
const Setup = pagePart('home/setup/setup', () => import('./setup/setup.tsx'));

const DAYS = 14;
/** Each request counts all messages again. */
const REFRESH_MS = 30_000;
/** While the clock of test mode moves, a day may pass in a second. */
const MOVING_REFRESH_MS = 2000;

/** How often it is asked whether a step is done: there is no event for a delivery, or for a member who joins. */
const SETUP_MS = 2000;

export default function Home() {
  const { t } = useLingui();
  const { workspace } = useIdentity();
  const { name } = workspace;
  // Shown anew while the clock moves.
  useTestClock();
  const today = capitalised(longDateOf(workspaceNow(), workspace.timezone));
  const { data, error } = useRead(
    'GET /api/workspace/setup',
    {},
    { refetchInterval: (read) => (read && isOpen(read.setup) ? SETUP_MS : false) },
  );
  const setup = data?.setup;
  const showAgain = useWrite('PATCH /api/workspace', { refresh: ['GET /api/workspace/setup'] });
  const isAdmin = useIsAdmin();
  // The last step may show a secret that is shown only once.
  const [hasShown, setHasShown] = useState(false);
  const showsSetup = setup !== undefined && !setup.dismissed && (!setup.complete || hasShown);
  if (showsSetup && !hasShown) setHasShown(true);
  const hasLine = setup?.steps.every(({ step, done }) => step !== 'line' || done) ?? true;
  return (
    <Page
      title={t`Home`}
      description={t`${today} in ${name}`}
      actions={
        setup?.dismissed &&
        !hasLine &&
        isAdmin && (
          <Button
            busy={showAgain.isPending}
            onClick={() => showAgain.mutate({ body: { setupDismissed: false } }, { onError: toastError })}
          >
            <Trans>Show the first steps</Trans>
          </Button>
        )
      }
    >
      {showsSetup && (
        <div className={hasLine ? 'mb-4' : ''}>
          <Suspense fallback={<SkeletonRows />}>
            <Setup setup={setup} />
          </Suspense>
        </div>
      )}
      {/* Without a line there is nothing to see yet. */}
      {(setup ? hasLine || !showsSetup : error) && <Overview />}
    </Page>
  );
}

const isOpen = ({ complete, dismissed }: { complete: boolean; dismissed: boolean }): boolean =>
  !complete && !dismissed;

/** What happens today. */
function Overview() {
  const { t } = useLingui();
  const { workspace } = useIdentity();
  const { timezone } = workspace;
  const live = useLiveInterval();
  const clock = useTestClock();
  const now = workspaceNow();
  const refreshMs = clock?.isMoving ? MOVING_REFRESH_MS : REFRESH_MS;
  const from = dayOf(new Date(now.getTime() - (DAYS - 1) * 86_400_000), timezone);
  const series = useRead(
    'GET /api/analytics/timeseries',
    { query: { interval: 'day', dateFrom: from, dateTo: dayOf(now, timezone) } },
    { refetchInterval: refreshMs, keep: true },
  );
  const lines = useRead('GET /api/lines/by-user', {}, { refetchInterval: live && refreshMs });
  const points = series.data?.series;
  const today = points?.at(-1);
  const yesterday = points?.at(-2);
  const repliedShare = percentOf(today?.repliedPct ?? null);
  const figure = (name: 'sent' | 'reached' | 'uniqueReplied' | 'failed') => ({
    value: today ? today[name] : series.error ? null : undefined,
    before: yesterday?.[name],
  });

  return (
    <>
      <section aria-label={t`Today`} className="grid grid-cols-2 gap-3 lg:grid-cols-4">
        <Figure label={t`Sent today`} {...figure('sent')} />
        <Figure label={t`Contacts reached`} {...figure('reached')} />
        <Figure
          label={t`Replied`}
          {...figure('uniqueReplied')}
          note={today && today.reached > 0 ? t`${repliedShare} of those reached` : undefined}
        />
        <Figure label={t({ message: 'Failed', context: 'number of messages' })} {...figure('failed')} />
      </section>
      <p className="mt-1.5 text-xs text-muted">
        <Trans>A message counts on the day it was created. The lines count what has left today.</Trans>
      </p>
      <div className="mt-4 grid grid-cols-1 gap-4 lg:grid-cols-[minmax(0,3fr)_minmax(0,2fr)]">
        <Card title={t`Needs attention`}>
          <Attention lines={lines.data?.lines} />
        </Card>
        <LinesAtAGlance lines={lines.data?.lines} error={lines.error} retry={() => void lines.refetch()} />
      </div>
      <Card title={t`The last ${DAYS} days`} className="mt-4">
        {series.error && !points ? (
          <ErrorState error={series.error} retry={() => void series.refetch()} />
        ) : (
          <div className="p-4">
            <Suspense fallback={<Skeleton className="h-60" />}>
              {points ? <Activity points={points} /> : <Skeleton className="h-60" />}
            </Suspense>
          </div>
        )}
      </Card>
    </>
  );
}

function Figure({
  label,
  value,
  before,
  note,
}: {
  label: string;
  /** Undefined while it is loading, null if that failed. */
  value: number | null | undefined;
  before: number | undefined;
  note?: string | undefined;
}) {
  const { t } = useLingui();
  const valueBefore = before === undefined ? null : numberOf(before);
  return (
    <div className="rounded-xl border border-line bg-surface p-4 shadow-card">
      <p className="text-muted">{label}</p>
      {value === undefined ? (
        <Skeleton className="mt-2 h-8 w-20" />
      ) : (
        <p className="mt-1 text-2xl font-semibold tracking-tight tabular-nums">
          {value === null ? '–' : numberOf(value)}
        </p>
      )}
      <p className="mt-1 min-h-4 text-xs text-muted">
        {note ?? (valueBefore === null ? '' : t`${valueBefore} yesterday`)}
      </p>
    </div>
  );
}

interface Point {
  start: string;
  sent: number;
  uniqueReplied: number;
}

function Activity({ points }: { points: readonly Point[] }) {
  const { t } = useLingui();
  const times = useMemo(() => points.map(({ start }) => start), [points]);
  const series = useMemo(
    () => [
      {
        label: t({ message: 'Sent', context: 'number of messages' }),
        values: points.map(({ sent }) => sent),
        colour: 'accent',
      },
      { label: t`Replied`, values: points.map(({ uniqueReplied }) => uniqueReplied), colour: 'good' },
    ],
    [points, t],
  );
  const total = (name: 'sent' | 'uniqueReplied') => points.reduce((sum, point) => sum + point[name], 0);
  const days = points.length;
  const [sent, replied] = [total('sent'), total('uniqueReplied')];
  return (
    <Plot
      times={times}
      series={series}
      summary={t`In ${days} days ${sent} messages were sent and ${replied} contacts replied.`}
    />
  );
}
