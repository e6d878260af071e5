import { Plural, Trans, useLingui } from '@lingui/react/macro';
import { Link } from '@tanstack/react-router';
import { Activity } from 'lucide-react';
import { lazy, type ReactNode, Suspense, useMemo, useState } from 'react';
import { request } from '#console/api/client.ts';
import { useLiveInterval } from '#console/api/live.ts';
import { refreshReads, useRead, useWrite } from '#console/api/queries.ts';
import type { ResponseOf } from '#console/api/routes.ts';
import { useIsAdmin, useTimeZone } from '#console/api/workspace.ts';
import { Status } from '#console/components/badge.tsx';
import { Button } from '#console/components/button.tsx';
import { Fact, Facts } from '#console/components/facts.tsx';
import { Meter } from '#console/components/meter.tsx';
import { PowerButton } from '#console/components/power-button.tsx';
import { ErrorState, Skeleton, SkeletonRows } from '#console/components/states.tsx';
import { toast, toastError } from '#console/components/toast.tsx';
import { WorkflowLink } from '#console/components/workflow-link.tsx';
import { addressName, fullTimeOf, numberOf, relativeTimeOf } from '#console/lib/format.ts';
import { type Line, lineName, lineState } from '#console/lib/line.ts';
import { statusName } from '#console/lib/status-names.ts';
import { workspaceNow } from '#console/lib/workspace-time.ts';
import { waitText } from '#console/lib/wait-names.ts';
import { PauseButton } from './pause-button.tsx';
import { RequestActions } from './request-actions.tsx';

const Plot = lazy(() => import('#console/components/plot.tsx'));

/** The API counts no further. */
const MOST_COUNTED = 1000;

type Pace = ResponseOf<'GET /api/lines/{id}/pace'>['pace'];
const LINES = 'GET /api/lines/by-user';

/** The state, the usage and the next messages of a line. */
export function Overview({ line }: { line: Line }) {
  const { t } = useLingui();
  const isAdmin = useIsAdmin();
  const pace = useRead(
    'GET /api/lines/{id}/pace',
    { params: { id: line._id } },
    { refetchInterval: useLiveInterval() },
  );
  return (
    <div className="flex flex-col gap-5">
      <div className="flex flex-wrap items-center gap-2">
        <Status status={lineState(line)} />
        <span className="flex-1" />
        {line.provisioningStatus === 'active' && (
          <>
            <Check line={line} />
            {isAdmin && <PauseButton line={line} />}
            <PowerSwitch line={line} />
          </>
        )}
      </div>
      {line.isPaused && (
        <p className="rounded-lg bg-warn-soft px-3 py-2 text-warn">
          <Trans>This line is paused. It sends nothing; its messages wait and keep their place.</Trans>
        </p>
      )}
      {line.provisioningStatus !== 'active' && <RequestActions line={line} />}
      {pace.error && !pace.data ? (
        <ErrorState error={pace.error} retry={() => void pace.refetch()} />
      ) : pace.data ? (
        <Sending pace={pace.data.pace} />
      ) : (
        <SkeletonRows rows={4} />
      )}
      <Health line={line} />
      <Facts>
        <Fact name={t`Line ID`}>{line._id}</Fact>
      </Facts>
      <WorkflowLink
        id={`${line.provisioningStatus === 'active' ? 'line-pacer' : 'line-request'}:${line._id}`}
      />
    </div>
  );
}

function Section({ title, children }: { title: string; children: ReactNode }) {
  return (
    <section>
      <h3 className="mb-2 font-medium">{title}</h3>
      {children}
    </section>
  );
}

function Sending({ pace }: { pace: Pace }) {
  const { t } = useLingui();
  const { dailyTotal, dailyNew, hourlyNew, warmup } = pace;
  return (
    <>
      <Section title={t`Next`}>
        <Next pace={pace} />
      </Section>
      <Section title={t`Used today`}>
        <div className="flex flex-col gap-3">
          <Meter label={t`Messages`} {...dailyTotal} />
          <Meter label={t`New conversations`} {...dailyNew} />
          <Meter label={t`New conversations this hour`} {...hourlyNew} />
        </div>
      </Section>
      {warmup && (
        <Section title={t`Warm-up`}>
          <Warmup warmup={warmup} />
        </Section>
      )}
    </>
  );
}

function Next({ pace: { next, waiting } }: { pace: Pace }) {
  const { t } = useLingui();
  const zone = useTimeZone();
  if (!next)
    return (
      <p className="text-muted">
        <Trans>Nothing waits in the queue of this line.</Trans>
      </p>
    );
  const { recipient, scheduledDate, waitingFor, messageId } = next;
  const at = waitingFor?.until ?? scheduledDate;
  const to = addressName(recipient);
  const count = numberOf(waiting);
  return (
    <div className="rounded-lg border border-line p-3">
      <p>
        <Link to="/messages" search={{ message: messageId }} className="font-medium hover:underline">
          <Trans>To {to}</Trans>
        </Link>{' '}
        <time dateTime={at} title={fullTimeOf(at, zone)} className="text-muted">
          {new Date(at) > workspaceNow() ? relativeTimeOf(at) : t`as soon as it may`}
        </time>
      </p>
      {waitingFor && <p className="mt-1">{waitText(waitingFor)}</p>}
      <p className="mt-1 text-muted">
        {waiting >= MOST_COUNTED ? (
          <Trans>{count} or more messages wait.</Trans>
        ) : (
          <Plural value={waiting} one="One message waits." other="# messages wait." />
        )}
      </p>
    </div>
  );
}

const DAY_MS = 86_400_000;

function Warmup({ warmup: { startedAt, limits } }: { warmup: NonNullable<Pace['warmup']> }) {
  const { t } = useLingui();
  const times = useMemo(
    () => limits.map((_, day) => new Date(Date.parse(startedAt) + day * DAY_MS).toISOString()),
    [startedAt, limits],
  );
  const series = useMemo(
    () => [{ label: t`New conversations a day`, values: limits, colour: 'accent' }],
    [limits, t],
  );
  const [first, last, days] = [limits[0], limits.at(-1), limits.length];
  return (
    <Suspense fallback={<Skeleton className="h-60" />}>
      <Plot
        times={times}
        series={series}
        summary={t`The line may start ${first} new conversations on its first day, and ${last} after ${days} days.`}
      />
    </Suspense>
  );
}

function Health({ line: { healthCheck, usRegistration } }: { line: Line }) {
  const checked = healthCheck && relativeTimeOf(healthCheck.lastCheckedAt);
  const { t } = useLingui();
  const zone = useTimeZone();
  return (
    <Section title={t`Health`}>
      {healthCheck ? (
        <p className="flex items-center gap-2">
          <Status status={healthCheck.status} />
          <time
            dateTime={healthCheck.lastCheckedAt}
            title={fullTimeOf(healthCheck.lastCheckedAt, zone)}
            className="text-muted"
          >
            <Trans>checked {checked}</Trans>
          </time>
        </p>
      ) : (
        <p className="text-muted">
          <Trans>The line has not been checked yet.</Trans>
        </p>
      )}
      {usRegistration === 'unregistered' && (
        <p className="mt-1 text-warn">
          <Trans>
            This number is not registered for business messages (A2P 10DLC), so carriers in the United States
            are likely to filter them.
          </Trans>
        </p>
      )}
    </Section>
  );
}

/** Asks the carrier now whether the line works. */
function Check({ line }: { line: Line }) {
  const { t } = useLingui();
  const [busy, setBusy] = useState(false);
  const check = async (): Promise<void> => {
    setBusy(true);
    try {
      const { status, failures } = await request('GET /api/lines/check-availability', {
        query: { id: line._id },
      });
      const name = lineName(line);
      const state = statusName(status).toLowerCase();
      toast(t`${name} is ${state}`, failures[0] ? { description: failures[0].error } : {});
    } catch (error) {
      toastError(error);
    }
    setBusy(false);
    await refreshReads([LINES]);
  };
  return (
    <Button
      small
      busy={busy}
      disabled={!line.isActive}
      icon={<Activity className="size-4" aria-hidden="true" />}
      onClick={() => void check()}
    >
      <Trans>Check now</Trans>
    </Button>
  );
}

/** An inactive line sends nothing. Messages that are not pinned to it are sent through other lines. */
function PowerSwitch({ line }: { line: Line }) {
  const update = useWrite('PATCH /api/lines/{id}', { refresh: [LINES, 'GET /api/lines/{id}/pace'] });
  return (
    <PowerButton
      name={lineName(line)}
      isActive={line.isActive}
      busy={update.isPending}
      set={(isActive, callbacks) =>
        update.mutate({ params: { id: line._id }, body: { isActive } }, callbacks)
      }
    />
  );
}
