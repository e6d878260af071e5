import type { MessageDescriptor } from '@lingui/core';
import { msg, t } from '@lingui/core/macro';
import { Trans, useLingui } from '@lingui/react/macro';
import { type FormEvent, lazy, Suspense, useMemo } from 'react';
import { useRead, useWrite } from '#console/api/queries.ts';
import type { ResponseOf } from '#console/api/routes.ts';
import { useIsAdmin, useTimeZone } from '#console/api/workspace.ts';
import { Badge, Status } from '#console/components/badge.tsx';
import { Button } from '#console/components/button.tsx';
import { FormError, generalErrorOf, issueOf, SelectField, TextField } from '#console/components/field.tsx';
import { KeptForm } from '#console/components/kept-form.tsx';
import { ErrorState, Skeleton, SkeletonRows } from '#console/components/states.tsx';
import { toast, toastError } from '#console/components/toast.tsx';
import { fullTimeOf, relativeTimeOf } from '#console/lib/format.ts';
import type { Line } from '#console/lib/line.ts';
import { locale } from '#console/lib/locale.ts';
import { useEdits } from '#console/lib/unsent.ts';

const Plot = lazy(() => import('#console/components/plot.tsx'));

type Reputation = ResponseOf<'GET /api/lines/{id}/reputation'>;
type Term = Reputation['terms'][number];
const READS = [
  'GET /api/lines/{id}/reputation',
  'GET /api/lines/by-user',
  'GET /api/lines/{id}/pace',
] as const;

const TERMS: Record<Term['name'], MessageDescriptor> = {
  reply_rate: msg`Answers to first messages`,
  balance: msg`Received to sent`,
  unanswered: msg`Three in a row unanswered`,
  undelivered: msg`Not delivered`,
  failed: msg`Refused by the carrier`,
  opt_outs: msg`Opt-outs`,
  complaints: msg`Complaints`,
  bounces: msg`Bounces`,
  first_touch: msg`Links and files in first messages`,
  burst: msg`Bursts of new conversations`,
};

/** What a term has counted. The API says it in English, with more details. */
function termText({ name, value, text, evidence: { count, of, days } }: Term): string {
  if (locale === 'en') return text;
  if (value === null) return t`Nothing has been counted yet.`;
  if (name === 'burst') return t`The busiest day had ${count} new conversations; a usual one has ${of}.`;
  return t`${count} of ${of}, in ${days} days.`;
}

const EFFECTS: Record<Reputation['state'], MessageDescriptor> = {
  new: msg`The line has opened fewer than 20 conversations in 28 days, too few to judge it.`,
  healthy: msg`People welcome the messages of this line. It sends at its full pace.`,
  watch: msg`The line opens three quarters of its usual new conversations.`,
  at_risk: msg`The line opens two fifths of its usual new conversations and pauses longer between messages.`,
  critical: msg`The line opens no new conversations until it has recovered. Answers go on.`,
};

/** How the messages of a line are received, and what that does to its pacing. */
export function ReputationTab({ line }: { line: Line }) {
  const read = useRead('GET /api/lines/{id}/reputation', { params: { id: line._id } });
  if (read.error && !read.data) return <ErrorState error={read.error} retry={() => void read.refetch()} />;
  if (!read.data) return <SkeletonRows rows={6} />;
  return <Judgement reputation={read.data} />;
}

function Judgement({ reputation }: { reputation: Reputation }) {
  const { t } = useLingui();
  const { state, score, since, terms, history } = reputation;
  const time = since && relativeTimeOf(since);
  return (
    <div className="flex flex-col gap-5">
      <div className="flex flex-wrap items-center gap-2">
        <Status status={state} />
        <p className="font-medium">
          <Trans>{score} of 100 points</Trans>
        </p>
        {since && (
          <p className="text-muted">
            <Trans>since {time}</Trans>
          </p>
        )}
      </div>
      <Effects reputation={reputation} />
      {history.length > 1 && <History history={history} />}
      <section>
        <h3 className="mb-2 font-medium">
          <Trans>What it is judged by</Trans>
        </h3>
        <ul className="flex flex-col gap-3">
          {terms.map((term) => {
            const lost = -term.points;
            const { name, weight } = term;
            return (
              <li key={name}>
                <p className="flex items-center justify-between gap-2">
                  <span className="font-medium">{t(TERMS[name])}</span>
                  <Badge tone={toneOf(term)}>
                    {lost === 0 ? t`takes nothing` : t`−${lost} of ${weight}`}
                  </Badge>
                </p>
                <p className="text-muted">{termText(term)}</p>
              </li>
            );
          })}
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
  const isAdmin = useIsAdmin();
  const end = useWrite('DELETE /api/lines/{id}/reputation/override', { refresh: [...READS] });
  if (override) {
    const until = fullTimeOf(override.until, zone);
    const { reason } = override;
    return (
      <div className="rounded-lg border border-line p-3">
        <p>
          <Trans>
            The reputation has no effect until <time dateTime={override.until}>{until}</time>: “{reason}”
          </Trans>
        </p>
        {isAdmin && (
          <Button
            small
            busy={end.isPending}
            onClick={() => end.mutate({ params: { id: lineId } }, { onError: toastError })}
          >
            <Trans>End the override</Trans>
          </Button>
        )}
      </div>
    );
  }
  if (policy !== 'protect')
    return (
      <p className="text-muted">
        <Trans>By its policy, the reputation of this line changes nothing about its pace.</Trans>
      </p>
    );
  const isSlowed = effects.newConversationsFactor < 1 || effects.newConversationsStopped;
  return (
    <>
      <p>{t(EFFECTS[state])}</p>
      {isSlowed && isAdmin && <Override lineId={lineId} />}
    </>
  );
}

const FIELDS = ['hours', 'reason'];
const NO_OVERRIDE = { hours: '24', reason: '' };

function Override({ lineId }: { lineId: string }) {
  const { t } = useLingui();
  const edits = useEdits(`override ${lineId}`, NO_OVERRIDE);
  const { hours, reason } = edits.values;
  const override = useWrite('POST /api/lines/{id}/reputation/override', { refresh: [...READS] });
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    override.mutate(
      { params: { id: lineId }, body: { hours: Number(hours), reason } },
      {
        onSuccess: () => {
          edits.forget();
          toast(t`The line sends at its full pace`);
        },
      },
    );
  };
  return (
    <KeptForm
      edits={edits}
      className="flex flex-col gap-3 rounded-lg border border-line p-3"
      onSubmit={submit}
    >
      <h3 className="font-medium">
        <Trans>Lift its effects for some hours</Trans>
      </h3>
      <div className="grid gap-3 sm:grid-cols-[6rem_1fr]">
        <TextField
          label={t`Hours`}
          inputMode="numeric"
          value={hours}
          onChange={(event) => edits.change({ hours: event.target.value })}
          error={issueOf(override.error, 'hours')}
        />
        <TextField
          label={t`Reason`}
          hint={t`The audit log records it.`}
          value={reason}
          onChange={(event) => edits.change({ reason: event.target.value })}
          error={issueOf(override.error, 'reason')}
        />
      </div>
      <FormError>{generalErrorOf(override.error, FIELDS)}</FormError>
      <div>
        <Button type="submit" busy={override.isPending} disabled={reason.trim() === ''}>
          <Trans>Send at full pace</Trans>
        </Button>
      </div>
    </KeptForm>
  );
}

function History({ history }: { history: Reputation['history'] }) {
  const { t } = useLingui();
  const times = useMemo(() => history.map(({ date }) => `${date}T12:00:00Z`), [history]);
  const series = useMemo(
    () => [{ label: t`Score`, values: history.map(({ score }) => score), colour: 'accent' }],
    [history, t],
  );
  const { score: before, date } = history[0] ?? {};
  const now = history.at(-1)?.score;
  return (
    <section>
      <h3 className="mb-2 font-medium">
        <Trans>History</Trans>
      </h3>
      <Suspense fallback={<Skeleton className="h-60" />}>
        <Plot
          times={times}
          series={series}
          summary={t`The score was ${before} on ${date} and is ${now} now.`}
        />
      </Suspense>
    </section>
  );
}

const policies = () => [
  { value: '', label: t`As for the workspace` },
  { value: 'protect', label: t`Slow down when people do not welcome it` },
  { value: 'observe', label: t`Judge and tell only` },
  { value: 'off', label: t`Off` },
];

function Policy({ reputation: { lineId, policy } }: { reputation: Reputation }) {
  const { t } = useLingui();
  const lines = useRead('GET /api/lines/by-user', {});
  const own = lines.data?.lines.find(({ _id }) => _id === lineId)?.reputationPolicy ?? null;
  const update = useWrite('PATCH /api/lines/{id}', { refresh: [...READS] });
  const inherited = policies().find(({ value }) => value === policy)?.label;
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
      label={t`Policy`}
      hint={own === null ? t`The workspace's: ${inherited}.` : undefined}
      value={own ?? ''}
      disabled={update.isPending}
      options={policies()}
      onChange={(event) => set(event.target.value)}
    />
  );
}
