import { t } from '@lingui/core/macro';
import { Plural, Trans, useLingui } from '@lingui/react/macro';
import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { lazy, Suspense, useDeferredValue, useMemo } from 'react';
import { ApiFailure, request } from '#console/api/client.ts';
import type { ResponseOf } from '#console/api/routes.ts';
import { useTimeZone } from '#console/api/workspace.ts';
import { EmptyState, ErrorState, Skeleton, SkeletonRows } from '#console/components/states.tsx';
import { dateOf, numberOf, percentOf } from '#console/lib/format.ts';

const Plot = lazy(() => import('#console/components/plot.tsx'));

export type Hours = ResponseOf<'GET /api/workspace/quiet-hours'>['quietHours'];
type Preview = ResponseOf<'POST /api/compliance/quiet-hours-preview'>;
type Place = Preview['byPlace'][number];

const STALE_MS = 60_000;
const MOST_PLACES = 6;

/** What quiet hours would have done to the messages of the last month. */
export function WouldHaveWaited({ hours, isOn }: { hours: Hours; isOn: boolean }) {
  const { t } = useLingui();
  const body = useDeferredValue(hours);
  const isComplete = body.start !== '' && body.end !== '' && body.appliesTo.length > 0;
  const preview = useQuery({
    queryKey: ['POST /api/compliance/quiet-hours-preview', body],
    queryFn: ({ signal }) => request('POST /api/compliance/quiet-hours-preview', { body }, { signal }),
    enabled: isComplete,
    placeholderData: keepPreviousData,
    staleTime: STALE_MS,
  });
  const title = isOn ? t`In the last 30 days` : t`With these hours, in the last 30 days`;
  return (
    <section aria-label={t`What would have waited`} className="min-w-0">
      <h3 className="mb-2 font-medium">{title}</h3>
      {preview.error && !preview.data ? (
        // A refused field is shown at the field once it is saved.
        preview.error instanceof ApiFailure && preview.error.status === 400 ? (
          <p className="text-bad">{preview.error.issues[0]?.message ?? preview.error.message}</p>
        ) : (
          <ErrorState error={preview.error} retry={() => void preview.refetch()} />
        )
      ) : preview.data ? (
        <Shown preview={preview.data} />
      ) : isComplete ? (
        <SkeletonRows rows={3} />
      ) : (
        <p className="text-muted">
          <Trans>Choose hours and what they apply to.</Trans>
        </p>
      )}
    </section>
  );
}

function Shown({ preview }: { preview: Preview }) {
  const { t } = useLingui();
  const zone = useTimeZone();
  const { messages, held, byReason, byPlace, byDay, complete, from } = preview;
  const lawCount = byReason.law;
  const otherPlaces = byPlace.length - MOST_PLACES;
  const since = dateOf(from, zone);
  if (messages === 0)
    return (
      <EmptyState title={t`No messages yet`}>
        <Trans>Nothing was sent in the last 30 days.</Trans>
      </EmptyState>
    );
  return (
    <div className="flex flex-col gap-3">
      <p aria-live="polite">
        <Held preview={preview} />
        {lawCount > 0 && (
          <>
            {' '}
            <Plural
              value={lawCount}
              one="# of them because of a state’s law."
              other="# of them because of a state’s law."
            />
          </>
        )}
        {!complete && (
          <>
            {' '}
            <Trans>Only the newest messages are counted, since {since}.</Trans>
          </>
        )}
      </p>
      {held > 0 && (
        <>
          <Suspense fallback={<Skeleton className="h-55" />}>
            <Days byDay={byDay} />
          </Suspense>
          <ul className="divide-y divide-line rounded-lg border border-line">
            {byPlace.slice(0, MOST_PLACES).map((place) => (
              <li key={placeName(place)} className="flex flex-wrap items-baseline gap-x-3 px-3 py-1.5">
                <span className="min-w-0 flex-1 basis-40 wrap-anywhere">{placeName(place)}</span>
                <span className="shrink-0 text-muted tabular-nums">{heldAt(place)}</span>
              </li>
            ))}
          </ul>
          {byPlace.length > MOST_PLACES && (
            <p className="text-[0.8125rem] text-muted">
              <Plural value={otherPlaces} one="And in # more place." other="And in # more places." />
            </p>
          )}
        </>
      )}
    </div>
  );
}

function Held({ preview: { messages, held, longestHoldMinutes } }: { preview: Preview }) {
  const count = numberOf(held);
  const all = numberOf(messages);
  const share = percentOf(held / messages);
  if (longestHoldMinutes === null)
    return (
      <Trans>
        <strong className="font-semibold">
          {count} of {all}
        </strong>{' '}
        messages ({share}) would have waited.
      </Trans>
    );
  const most = durationOf(longestHoldMinutes);
  return (
    <Trans>
      <strong className="font-semibold">
        {count} of {all}
      </strong>{' '}
      messages ({share}) would have waited, {most} at most.
    </Trans>
  );
}

function heldAt({ held, messages, longestHoldMinutes }: Place): string {
  const count = numberOf(held);
  const all = numberOf(messages);
  if (longestHoldMinutes === null) return t`${count} of ${all}`;
  const most = durationOf(longestHoldMinutes);
  return t`${count} of ${all}, up to ${most}`;
}

function Days({ byDay }: { byDay: Preview['byDay'] }) {
  const { t } = useLingui();
  // At noon, so that a day is the same one in each zone near the workspace's.
  const times = useMemo(() => byDay.map(({ date }) => `${date}T12:00:00Z`), [byDay]);
  const series = useMemo(
    () => [{ label: t`Would have waited`, values: byDay.map(({ held }) => held), colour: 'warn' }],
    [byDay, t],
  );
  const most = numberOf(Math.max(...byDay.map(({ held }) => held)));
  const days = byDay.length;
  return (
    <Plot
      times={times}
      series={series}
      bars
      summary={t`Messages that would have waited, by day: at most ${most} on one of ${days} days.`}
    />
  );
}

/** Florida's numbers are in two zones: `US-FL: America/New_York, America/Chicago`. */
const placeName = ({ region, zones }: Place): string =>
  `${region === null ? '' : `${region}: `}${zones.join(', ')}`.replaceAll('_', ' ');

/** 11 h 30 min */
function durationOf(minutes: number): string {
  const hours = Math.floor(minutes / 60);
  const rest = minutes % 60;
  return [hours > 0 && `${hours} h`, (rest > 0 || hours === 0) && `${rest} min`].filter(Boolean).join(' ');
}
