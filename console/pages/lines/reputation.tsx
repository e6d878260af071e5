import { type FormEvent, lazy, Suspense, useMemo, useState } from 'react';
import { useRead, useWrite } from '#console/api/queries.ts';
import type { ResponseOf } from '#console/api/routes.ts';
import { useTimeZone } from '#console/api/workspace.ts';
import { Badge, Status } from '#console/components/badge.tsx';
import { Button } from '#console/components/button.tsx';
import { FormError, generalErrorOf, issueOf, SelectField, TextField } from '#console/components/field.tsx';
import { ErrorState, Skeleton, SkeletonRows } from '#console/components/states.tsx';
import { toast, toastError } from '#console/components/toast.tsx';
import { fullTimeOf, relativeTimeOf } from '#console/lib/format.ts';
import type { Line } from '#console/lib/line.ts';

const Plot = lazy(() => import('#console/components/plot.tsx'));

type Reputation = ResponseOf<'GET /api/lines/{id}/reputation'>;
type Term = Reputation['terms'][number];
const READS = [
  'GET /api/lines/{id}/reputation',
  'GET /api/lines/by-user',
  'GET /api/lines/{id}/pace',
] as const;

const TERMS: Record<Term['name'], string> = {
  reply_rate: 'Answers to first messages',
  balance: 'Received to sent',
  unanswered: 'Three in a row unanswered',
  undelivered: 'Not delivered',
  failed: 'Refused by the carrier',
  opt_outs: 'Opt-outs',
  complaints: 'Complaints',
  bounces: 'Bounces',
  first_touch: 'Links and files in first messages',
  burst: 'Bursts of new conversations',
};

const EFFECTS: Record<Reputation['state'], string> = {
  new: 'The line has opened fewer than 20 conversations in 28 days, too few to judge it.',
  healthy: 'People welcome the messages of this line. It sends at its full pace.',
  watch: 'The line opens three quarters of its usual new conversations.',
  at_risk: 'The line opens two fifths of its usual new conversations and pauses longer between messages.',
  critical: 'The line opens no new conversations until it has recovered. Answers go on.',
};

/** How the messages of a line are received, and what that does to its pacing. */
export function ReputationTab({ line }: { line: Line }) {
  const read = useRead('GET /api/lines/{id}/reputation', { params: { id: line._id } });
  if (read.error) return <ErrorState error={read.error} retry={() => void read.refetch()} />;
  if (!read.data) return <SkeletonRows rows={6} />;
  return <Judgement reputation={read.data} />;
}

function Judgement({ reputation }: { reputation: Reputation }) {
  const { state, score, since, terms, history } = reputation;
  return (
    <div className="flex flex-col gap-5">
      <div className="flex flex-wrap items-center gap-2">
        <Status status={state} />
        <p className="font-medium">{score} of 100 points</p>
        {since && <p className="text-muted">since {relativeTimeOf(since)}</p>}
      </div>
      <Effects reputation={reputation} />
      {history.length > 1 && <History history={history} />}
      <section>
        <h3 className="mb-2 font-medium">What it is judged by</h3>
        <ul className="flex flex-col gap-3">
          {terms.map((term) => (
            <li key={term.name}>
              <p className="flex items-center justify-between gap-2">
                <span className="font-medium">{TERMS[term.name]}</span>
                <Badge tone={toneOf(term)}>
                  {term.points === 0 ? 'takes nothing' : `−${-term.points} of ${term.weight}`}
                </Badge>
              </p>
              <p className="text-muted">{term.text}</p>
            </li>
          ))}
        </ul>
      </section>
      <Policy reputation={reputation} />
    </div>
  );
}

function toneOf({ points, weight }: Term) {
  if (points === 0) return 'good';
  return -points < weight / 2 ? 'warn' : 'bad';
}

function Effects({ reputation: { state, policy, override, lineId, effects } }: { reputation: Reputation }) {
  const zone = useTimeZone();
  const end = useWrite('DELETE /api/lines/{id}/reputation/override', { refresh: [...READS] });
  if (override)
    return (
      <div className="rounded-lg border border-line p-3">
        <p>
          The reputation has no effect until{' '}
          <time dateTime={override.until}>{fullTimeOf(override.until, zone)}</time>: “{override.reason}”
        </p>
        <Button
          small
          busy={end.isPending}
          onClick={() => end.mutate({ params: { id: lineId } }, { onError: toastError })}
        >
          End the override
        </Button>
      </div>
    );
  if (policy !== 'protect')
    return (
      <p className="text-muted">By its policy, the reputation of this line changes nothing about its pace.</p>
    );
  const isSlowed = effects.newConversationsFactor < 1 || effects.newConversationsStopped;
  return (
    <>
      <p>{EFFECTS[state]}</p>
      {isSlowed && <Override lineId={lineId} />}
    </>
  );
}

const FIELDS = ['hours', 'reason'];

function Override({ lineId }: { lineId: string }) {
  const [hours, setHours] = useState('24');
  const [reason, setReason] = useState('');
  const override = useWrite('POST /api/lines/{id}/reputation/override', { refresh: [...READS] });
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    override.mutate(
      { params: { id: lineId }, body: { hours: Number(hours), reason } },
      { onSuccess: () => toast('The line sends at its full pace') },
    );
  };
  return (
    <form className="flex flex-col gap-3 rounded-lg border border-line p-3" onSubmit={submit}>
      <h3 className="font-medium">Lift its effects for some hours</h3>
      <div className="grid gap-3 sm:grid-cols-[6rem_1fr]">
        <TextField
          label="Hours"
          inputMode="numeric"
          value={hours}
          onChange={(event) => setHours(event.target.value)}
          error={issueOf(override.error, 'hours')}
        />
        <TextField
          label="Reason"
          hint="The audit log records it."
          value={reason}
          onChange={(event) => setReason(event.target.value)}
          error={issueOf(override.error, 'reason')}
        />
      </div>
      <FormError>{generalErrorOf(override.error, FIELDS)}</FormError>
      <div>
        <Button type="submit" busy={override.isPending} disabled={reason.trim() === ''}>
          Send at full pace
        </Button>
      </div>
    </form>
  );
}

function History({ history }: { history: Reputation['history'] }) {
  const times = useMemo(() => history.map(({ date }) => `${date}T12:00:00Z`), [history]);
  const series = useMemo(
    () => [{ label: 'Score', values: history.map(({ score }) => score), colour: 'accent' }],
    [history],
  );
  const [first, last] = [history[0], history.at(-1)];
  return (
    <section>
      <h3 className="mb-2 font-medium">History</h3>
      <Suspense fallback={<Skeleton className="h-60" />}>
        <Plot
          times={times}
          series={series}
          summary={`The score was ${first?.score} on ${first?.date} and is ${last?.score} now.`}
        />
      </Suspense>
    </section>
  );
}

const POLICIES = [
  { value: '', label: 'As for the workspace' },
  { value: 'protect', label: 'Slow down when people do not welcome it' },
  { value: 'observe', label: 'Judge and tell only' },
  { value: 'off', label: 'Off' },
];

function Policy({ reputation: { lineId, policy } }: { reputation: Reputation }) {
  const lines = useRead('GET /api/lines/by-user', {});
  const own = lines.data?.lines.find(({ _id }) => _id === lineId)?.reputationPolicy ?? null;
  const update = useWrite('PATCH /api/lines/{id}', { refresh: [...READS] });
  const set = (value: string): void =>
    update.mutate(
      {
        params: { id: lineId },
        body: { reputationPolicy: value === '' ? null : (value as Reputation['policy']) },
      },
      { onError: toastError },
    );
  return (
    <SelectField
      label="Policy"
      hint={own === null ? `The workspace's: ${policy}.` : undefined}
      value={own ?? ''}
      disabled={update.isPending}
      options={POLICIES}
      onChange={(event) => set(event.target.value)}
    />
  );
}
