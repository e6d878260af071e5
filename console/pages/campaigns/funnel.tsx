import { plural, t } from '@lingui/core/macro';
import { Trans, useLingui } from '@lingui/react/macro';
import { useRead } from '#console/api/queries.ts';
import { Badge } from '#console/components/badge.tsx';
import { Range } from '#console/components/range.tsx';
import { ShareBar } from '#console/components/share-bar.tsx';
import { EmptyState, ErrorState, SkeletonRows } from '#console/components/states.tsx';
import { percentOf } from '#console/lib/format.ts';
import { CHANNELS } from '#console/lib/line.ts';
import { type Campaign, type Step, whenText } from './campaign.ts';
import { CountLink, type WhichLeads } from './count-link.tsx';
import { CampaignForecast } from './forecast.tsx';
import { comparisonSentence, type FunnelStep } from './funnel-sentence.ts';
import { type Counted, countName } from './lead-names.ts';
import { StepList } from './step-list.tsx';

const REFRESH_MS = 15_000;

type Counts = FunnelStep['variants'][number];
type Metric = 'replied' | 'optedOut';
/** The counts of a step or of one of its variants. */
type Column = Omit<Counts, 'name' | 'weight'> & { name: string; variant: string | null };

/** How far the leads got, and what they answered, step by step. */
export function StepFunnel({ campaign }: { campaign: Campaign }) {
  const { t } = useLingui();
  const { data, error, refetch } = useRead(
    'GET /api/campaigns/{id}/funnel',
    { params: { id: campaign._id } },
    { refetchInterval: REFRESH_MS },
  );
  if (error && !data) return <ErrorState error={error} retry={() => void refetch()} />;
  if (!data) return <SkeletonRows rows={3} />;
  const { steps } = data;
  const most = Math.max(...steps.map(({ leads }) => leads));
  if (most <= 0) return <EmptyState title={t`No lead has entered yet`} />;
  const all = steps.flatMap((step) => columnsOf(step));
  const scales = {
    replied: Math.max(...all.map(({ replied }) => replied.high ?? 0)),
    optedOut: Math.max(...all.map(({ optedOut }) => optedOut.high ?? 0)),
  };
  return (
    <div className="flex flex-col gap-3">
      {campaign.status === 'active' && <CampaignForecast campaign={campaign} />}
      <StepList
        campaign={campaign}
        renderMessage={(written, index) => {
          const step = steps.find(({ stepId }) => stepId === written.id);
          return (
            step && (
              <div className="flex flex-col gap-4">
                <Head written={written} index={index} step={step} most={most} />
                <Figures number={index + 1} step={step} />
                <Responses metric="replied" number={index + 1} step={step} most={scales.replied} />
                <Responses metric="optedOut" number={index + 1} step={step} most={scales.optedOut} />
              </div>
            )
          );
        }}
      />
      <p className="text-xs text-muted">
        <Trans>
          A reply or an opt-out counts to the last step sent before it. The bars are 95 % confidence
          intervals; those of all steps have the same scale.
        </Trans>
      </p>
    </div>
  );
}

const columnsOf = (step: FunnelStep): Column[] =>
  step.variants.length === 0
    ? [{ ...step, name: t`Leads`, variant: null }]
    : step.variants.map((one) => ({ ...one, variant: one.name }));

/** Whom a number counts. */
const leadsOf = ({ stepIndex }: FunnelStep, counted: Counted, column: Column | undefined): WhichLeads => ({
  stepIndex,
  counted,
  ...(column?.variant && { variant: column.variant }),
});

function Head({
  written,
  index,
  step,
  most,
}: {
  written: Step;
  index: number;
  step: FunnelStep;
  most: number;
}) {
  const { t } = useLingui();
  const number = index + 1;
  return (
    <div>
      <div className="mb-2 flex flex-wrap items-center gap-2">
        <h3 className="font-medium">
          <Trans>Step {number}</Trans>
        </h3>
        <Badge>{CHANNELS[step.messageType]}</Badge>
        <span className="text-muted">{whenText(written, index)}</span>
      </div>
      <ShareBar
        label={t`Leads that reached it`}
        count={step.reached}
        of={most}
        colour="bg-accent"
        number={<CountLink count={step.reached} of={{ stepIndex: step.stepIndex, counted: 'reached' }} />}
      />
    </div>
  );
}

const REASONS: Record<FunnelStep['skipped'][number]['reason'], (leads: number) => string> = {
  reply: (leads) => plural(leads, { one: '# replied before', other: '# replied before' }),
  opt_out: (leads) => plural(leads, { one: '# opted out before', other: '# opted out before' }),
  suppressed: (leads) => plural(leads, { one: '# was suppressed before', other: '# were suppressed before' }),
  failed: (leads) =>
    plural(leads, { one: '# could not be reached before', other: '# could not be reached before' }),
  no_consent: (leads) => plural(leads, { one: '# had not consented', other: '# had not consented' }),
  removed: (leads) => plural(leads, { one: '# was removed', other: '# were removed' }),
  stop_condition: (leads) =>
    plural(leads, { one: '# met a condition to stop', other: '# met a condition to stop' }),
  step_removed: (leads) =>
    plural(leads, {
      one: '# did not get it before it was removed',
      other: '# did not get it before it was removed',
    }),
  lead_deleted: (leads) => plural(leads, { one: '# was deleted', other: '# were deleted' }),
  campaign_ended: (leads) =>
    plural(leads, {
      one: '# was left when the campaign was archived',
      other: '# were left when the campaign was archived',
    }),
  recipient_opted_out: (leads) => plural(leads, { one: '# had opted out', other: '# had opted out' }),
  recipient_suppressed: (leads) =>
    plural(leads, { one: '# is suppressed by the agency', other: '# are suppressed by the agency' }),
  canceled: (leads) => plural(leads, { one: '# canceled by hand', other: '# canceled by hand' }),
};

const FIGURES: readonly (readonly [Counted, (counts: Column) => number | null])[] = [
  ['sent', ({ sent }) => sent],
  ['delivered', ({ delivered }) => delivered],
  ['read', ({ read }) => read],
  ['failed', ({ failed }) => failed],
  ['waiting', ({ waiting }) => waiting],
  ['upcoming', ({ upcoming }) => upcoming],
  ['skipped', ({ skipped }) => skipped.reduce((sum, { leads }) => sum + leads, 0)],
];

/** What became of the messages, with the variants side by side. */
function Figures({ number, step }: { number: number; step: FunnelStep }) {
  const columns: Column[] = [
    ...columnsOf(step),
    ...(step.variants.length > 0 ? [{ ...step, name: t`All`, variant: null }] : []),
  ];
  const skipped = step.skipped.map(({ reason, leads }) => REASONS[reason](leads)).join(', ');
  const rows = FIGURES.map(([counted, count]) => [counted, columns.map(count)] as const);
  return (
    <div>
      <table className="w-full table-fixed text-[0.8125rem]">
        <caption className="sr-only">
          <Trans>Messages of step {number}</Trans>
        </caption>
        <thead>
          <tr className="border-b border-line text-xs text-muted">
            <th scope="col" className="w-32">
              <span className="sr-only">{t`Messages`}</span>
            </th>
            {columns.map(({ name }) => (
              <th key={name} scope="col" className="py-1 pl-2 text-right font-medium">
                {name}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows
            .filter(([, counts], index) => index === 0 || counts.some((count) => count !== null && count > 0))
            .map(([counted, counts]) => (
              <tr key={counted}>
                <th scope="row" className="py-1 text-left font-normal text-muted">
                  {countName(counted)}
                </th>
                {counts.map((count, index) => (
                  <td key={index} className="py-1 pl-2 text-right tabular-nums">
                    {count === null ? (
                      '–'
                    ) : (
                      <CountLink count={count} of={leadsOf(step, counted, columns[index])} />
                    )}
                  </td>
                ))}
              </tr>
            ))}
        </tbody>
      </table>
      {skipped !== '' && (
        <p className="mt-1.5 text-xs text-muted">
          <Trans>Not sent: {skipped}.</Trans>
        </p>
      )}
    </div>
  );
}

function Responses({
  metric,
  number,
  step,
  most,
}: {
  metric: Metric;
  number: number;
  step: FunnelStep;
  /** The end of the scale. */
  most: number;
}) {
  const { t } = useLingui();
  if (step.sent === 0) return null;
  const sentence = comparisonSentence(step.comparisons, metric);
  const [title, label] =
    metric === 'replied'
      ? [t`Replies`, t`Replies to step ${number}`]
      : [t`Opt-outs`, t`Opt-outs to step ${number}`];
  return (
    <section aria-label={label}>
      <h4 className="mb-1 text-[0.8125rem] font-medium">{title}</h4>
      <ul className="flex flex-col gap-1.5">
        {columnsOf(step).map((counts) => (
          <Response
            key={counts.name}
            name={step.variants.length > 0 ? counts.name : null}
            {...counts[metric]}
            whom={leadsOf(step, metric, counts)}
            most={most}
          />
        ))}
      </ul>
      {sentence && <p className="mt-1.5 text-xs text-muted">{sentence}</p>}
    </section>
  );
}

function Response({
  name,
  leads,
  share,
  low,
  high,
  most,
  whom,
}: Counts[Metric] & { name: string | null; most: number; whom: WhichLeads }) {
  return (
    <li className="flex items-center gap-2 text-[0.8125rem]">
      {name !== null && <span className="w-4 shrink-0 font-medium">{name}</span>}
      <div className="min-w-12 flex-1">
        {share !== null && low !== null && high !== null && (
          <Range share={share} low={low} high={high} most={most} />
        )}
      </div>
      <span className="w-28 shrink-0 text-right tabular-nums sm:w-52">
        <CountLink count={leads} of={whom} /> · {percentOf(share)}
        {low !== null && high !== null && (
          <span className="text-xs text-muted max-sm:block">
            {' '}
            <Interval low={low} high={high} />
          </span>
        )}
      </span>
    </li>
  );
}

function Interval({ low, high }: { low: number; high: number }) {
  const [from, to] = [percentOf(low), percentOf(high)];
  return (
    <Trans>
      ({from} to {to})
    </Trans>
  );
}
