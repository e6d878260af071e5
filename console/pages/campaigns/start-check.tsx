import { Plural, Trans, useLingui } from '@lingui/react/macro';
import { useQuery } from '@tanstack/react-query';
import { request } from '#console/api/client.ts';
import { useRead } from '#console/api/queries.ts';
import { useTimeZone } from '#console/api/workspace.ts';
import { SkeletonRows } from '#console/components/states.tsx';
import { fullTimeOf, listOf, numberOf } from '#console/lib/format.ts';
import { lineName } from '#console/lib/line.ts';
import type { Campaign } from './campaign.ts';
import { tooEarly } from './forecast-sentence.ts';

/** How many lines are named. */
const NAMED = 3;

/** What a start would do: to how many, when, from which lines, and what is missing. */
export function StartCheck({
  campaign: { _id, updatedAt, requireConsent, finishBy },
}: {
  campaign: Campaign;
}) {
  const { t } = useLingui();
  const zone = useTimeZone();
  const lines = useRead('GET /api/lines/by-user', {});
  const { data, error } = useQuery({
    queryKey: ['POST /api/campaigns/{id}/check', _id, updatedAt],
    queryFn: ({ signal }) => request('POST /api/campaigns/{id}/check', { params: { id: _id } }, { signal }),
    // Leads and consents change without the campaign.
    staleTime: 0,
    gcTime: 0,
    retry: false,
  });
  if (error) return <p className="text-warn">{error.message}</p>;
  if (!data) return <SkeletonRows rows={3} />;
  const { check } = data;
  const { leads, messages, firstAt, lastAt, withoutConsent } = check;
  const first = firstAt === null ? '' : fullTimeOf(firstAt, zone);
  const last = lastAt === null ? t`in over three years` : fullTimeOf(lastAt, zone);
  const all = numberOf(messages);
  const late = tooEarly(finishBy, lastAt, zone);
  const senders = check.lines.flatMap((id) => {
    const line = lines.data?.lines.find((one) => one._id === id);
    return line ? [lineName(line)] : [];
  });
  const others = senders.length - NAMED;
  const names = listOf(others > 0 ? [...senders.slice(0, NAMED), t`${others} others`] : senders);
  const empty = Object.entries(check.emptyFields).filter(([, count]) => count > 0);
  return (
    <section aria-label={t`Check`} className="flex flex-col gap-2">
      <p className="font-medium">
        <Plural
          value={leads}
          _0="Nobody would get it."
          one="# lead gets the first step."
          other="# leads get the first step."
        />
      </p>
      {firstAt !== null && (
        <p>
          <Trans>
            {all} messages if nobody replies: the first leaves {first}, the last {last}.
          </Trans>
        </p>
      )}
      {late !== null && leads > 0 && <p className="text-warn">{late}</p>}
      {senders.length > 0 && (
        <p>
          <Trans>From {names}.</Trans>
        </p>
      )}
      <Left count={check.unreachable}>
        <Plural
          value={check.unreachable}
          one="# has no address for the first step."
          other="# have no address for the first step."
        />
      </Left>
      <Left count={check.optedOut + check.suppressed}>
        <Plural
          value={check.optedOut + check.suppressed}
          one="# gets nothing: it opted out or is suppressed."
          other="# get nothing: they opted out or are suppressed."
        />
      </Left>
      <Left count={withoutConsent} warns>
        {requireConsent ? (
          <Plural
            value={withoutConsent}
            one="# gets nothing: it has not consented."
            other="# get nothing: they have not consented."
          />
        ) : (
          <Plural
            value={withoutConsent}
            one="# has not consented; it gets messages, too, unless you require consent."
            other="# have not consented; they get messages, too, unless you require consent."
          />
        )}
      </Left>
      <Left count={check.inQuietHours}>
        <Plural
          value={check.inQuietHours}
          one="# waits for its send window or the end of quiet hours."
          other="# wait for their send window or the end of quiet hours."
        />
      </Left>
      {empty.map(([field, count]) => (
        <Left key={field} count={count} warns>
          <Empty field={field} count={count} of={leads} />
        </Left>
      ))}
    </section>
  );
}

const Left = ({
  count,
  warns = false,
  children,
}: {
  count: number;
  warns?: boolean;
  children: React.ReactNode;
}) => (count > 0 ? <p className={warns ? 'text-warn' : 'text-muted'}>{children}</p> : null);

function Empty({ field, count, of }: { field: string; count: number; of: number }) {
  const [some, all] = [numberOf(count), numberOf(of)];
  return (
    <Trans>
      “{field}” is empty for {some} of {all}.
    </Trans>
  );
}
