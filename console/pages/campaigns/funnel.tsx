import { useRead } from '#console/api/queries.ts';
import { Badge } from '#console/components/badge.tsx';
import { Range } from '#console/components/range.tsx';
import { ShareBar } from '#console/components/share-bar.tsx';
import { EmptyState, ErrorState, SkeletonRows } from '#console/components/states.tsx';
import { numberOf, percentOf } from '#console/lib/format.ts';
import { CHANNELS } from '#console/lib/line.ts';
import { type Campaign, whenText } from './campaign.ts';
import { CampaignForecast } from './forecast.tsx';
import { comparisonSentence, type FunnelStep } from './funnel-sentence.ts';

const REFRESH_MS = 15_000;

type Counts = FunnelStep['variants'][number];
type Metric = 'replied' | 'optedOut';
/** The counts of a step or of one of its variants. */
type Column = Omit<Counts, 'name' | 'weight'> & { name: string };

/** How far the leads got, and what they answered, step by step. */
export function StepFunnel({ campaign }: { campaign: Campaign }) {
  const { data, error, refetch } = useRead(
    'GET /api/campaigns/{id}/funnel',
    { params: { id: campaign._id } },
    { refetchInterval: REFRESH_MS },
  );
  if (error) return <ErrorState error={error} retry={() => void refetch()} />;
  if (!data) return <SkeletonRows rows={3} />;
  const { steps } = data;
  const most = Math.max(...steps.map(({ leads }) => leads));
  if (most <= 0) return <EmptyState title="No lead has entered yet" />;
  const all = steps.flatMap((step) => columnsOf(step));
  const scales = {
    replied: Math.max(...all.map(({ replied }) => replied.high ?? 0)),
    optedOut: Math.max(...all.map(({ optedOut }) => optedOut.high ?? 0)),
  };
  return (
    <div className="flex flex-col gap-3">
      {campaign.status === 'active' && <CampaignForecast campaign={campaign} />}
      <ol className="flex flex-col gap-3">
        {steps.map((step) => (
          <li key={step.stepIndex} className="flex flex-col gap-4 rounded-lg border border-line p-3">
            <Head campaign={campaign} step={step} most={most} />
            <Figures step={step} />
            <Responses title="Replies" metric="replied" step={step} most={scales.replied} />
            <Responses title="Opt-outs" metric="optedOut" step={step} most={scales.optedOut} />
          </li>
        ))}
      </ol>
      <p className="text-xs text-muted">
        A reply or an opt-out counts to the last step sent before it. The bars are 95 % confidence intervals;
        those of all steps have the same scale.
      </p>
    </div>
  );
}

const columnsOf = (step: FunnelStep): Column[] =>
  step.variants.length === 0 ? [{ ...step, name: 'Leads' }] : step.variants;

function Head({ campaign, step, most }: { campaign: Campaign; step: FunnelStep; most: number }) {
  const written = campaign.steps[step.stepIndex];
  return (
    <div>
      <div className="mb-2 flex flex-wrap items-center gap-2">
        <h3 className="font-medium">Step {step.stepIndex + 1}</h3>
        <Badge>{CHANNELS[step.messageType]}</Badge>
        {written && <span className="text-muted">{whenText(written, step.stepIndex)}</span>}
      </div>
      <ShareBar label="Leads that reached it" count={step.reached} of={most} colour="bg-accent" />
    </div>
  );
}

const REASONS: Record<FunnelStep['skipped'][number]['reason'], string> = {
  reply: 'replied before',
  opt_out: 'opted out before',
  failed: 'could not be reached before',
  no_consent: 'had not consented',
  removed: 'were removed',
  lead_deleted: 'were deleted',
  campaign_ended: 'were left when the campaign was archived',
  recipient_opted_out: 'had opted out',
  recipient_suppressed: 'are suppressed by the agency',
  canceled: 'canceled by hand',
};

const ROWS: readonly [label: string, count: (counts: Column) => number | null][] = [
  ['Sent', ({ sent }) => sent],
  ['Delivered', ({ delivered }) => delivered],
  ['Read', ({ read }) => read],
  ['Failed', ({ failed }) => failed],
  ['Waiting', ({ waiting }) => waiting],
  ['At an earlier step', ({ upcoming }) => upcoming],
  ['Not sent', ({ skipped }) => skipped.reduce((sum, { leads }) => sum + leads, 0)],
];

/** What became of the messages, with the variants side by side. */
function Figures({ step }: { step: FunnelStep }) {
  const columns = [...columnsOf(step), ...(step.variants.length > 0 ? [{ ...step, name: 'All' }] : [])];
  const rows = ROWS.map(([label, count]) => [label, columns.map(count)] as const);
  return (
    <div>
      <table className="w-full table-fixed text-[0.8125rem]">
        <caption className="sr-only">Messages of step {step.stepIndex + 1}</caption>
        <thead>
          <tr className="border-b border-line text-xs text-muted">
            <th scope="col" className="w-32">
              <span className="sr-only">Messages</span>
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
            .filter(
              ([label, counts]) => label === 'Sent' || counts.some((count) => count !== null && count > 0),
            )
            .map(([label, counts]) => (
              <tr key={label}>
                <th scope="row" className="py-0.5 text-left font-normal text-muted">
                  {label}
                </th>
                {counts.map((count, index) => (
                  <td key={index} className="py-0.5 pl-2 text-right tabular-nums">
                    {count === null ? '–' : numberOf(count)}
                  </td>
                ))}
              </tr>
            ))}
        </tbody>
      </table>
      {step.skipped.length > 0 && (
        <p className="mt-1.5 text-xs text-muted">
          Not sent:{' '}
          {step.skipped.map(({ reason, leads }) => `${numberOf(leads)} ${REASONS[reason]}`).join(', ')}.
        </p>
      )}
    </div>
  );
}

function Responses({
  title,
  metric,
  step,
  most,
}: {
  title: string;
  metric: Metric;
  step: FunnelStep;
  /** The end of the scale. */
  most: number;
}) {
  if (step.sent === 0) return null;
  const sentence = comparisonSentence(step.comparisons, metric);
  return (
    <section aria-label={`${title} to step ${step.stepIndex + 1}`}>
      <h4 className="mb-1 text-[0.8125rem] font-medium">{title}</h4>
      <ul className="flex flex-col gap-1.5">
        {columnsOf(step).map((counts) => (
          <Response
            key={counts.name}
            name={step.variants.length > 0 ? counts.name : null}
            {...counts[metric]}
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
}: Counts[Metric] & { name: string | null; most: number }) {
  return (
    <li className="flex items-center gap-2 text-[0.8125rem]">
      {name !== null && <span className="w-4 shrink-0 font-medium">{name}</span>}
      <div className="min-w-12 flex-1">
        {share !== null && low !== null && high !== null && (
          <Range share={share} low={low} high={high} most={most} />
        )}
      </div>
      <span className="w-28 shrink-0 text-right tabular-nums sm:w-52">
        {numberOf(leads)} · {percentOf(share)}
        {low !== null && high !== null && (
          <span className="text-xs text-muted max-sm:block">
            {' '}
            ({percentOf(low)} to {percentOf(high)})
          </span>
        )}
      </span>
    </li>
  );
}
