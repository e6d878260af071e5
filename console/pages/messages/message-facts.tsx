import { useLingui } from '@lingui/react/macro';
import { Link } from '@tanstack/react-router';
import { useRead } from '#console/api/queries.ts';
import { useTimeZone } from '#console/api/workspace.ts';
import { Fact, Facts } from '#console/components/facts.tsx';
import { addressName, fullTimeOf } from '#console/lib/format.ts';
import { type Line, lineName } from '#console/lib/line.ts';
import { placeOfIndex } from '#console/lib/step-places.ts';
import { addressOf, isWaiting, type Message, reasonOf, TRANSPORTS } from './message.ts';

/** Everything else that is known of a message. */
export function MessageFacts({ message, line }: { message: Message; line: Line | undefined }) {
  const { t } = useLingui();
  const zone = useTimeZone();
  const time = (at: string | null): string | null => (at === null ? null : fullTimeOf(at, zone));
  return (
    <Facts>
      <Fact name={t`Recipient`}>{addressName(addressOf(message))}</Fact>
      <Fact name={t`Line`}>
        {line && (
          <Link to="/lines" search={{ line: line._id }} className="text-accent-ink hover:underline">
            {lineName(line)}
          </Link>
        )}
      </Fact>
      <Fact name={t`Campaign`}>{message.campaignId && <CampaignName id={message.campaignId} />}</Fact>
      <Fact name={t`Step`}>
        {message.stepIndex !== null && <Step message={message} index={message.stepIndex} />}
      </Fact>
      <Fact name={isWaiting(message) ? t`Hold reason` : t`Error`}>{reasonOf(message)}</Fact>
      <Fact name={t`Created`}>{time(message.createdAt)}</Fact>
      <Fact name={t`Scheduled for`}>{time(message.scheduledDate)}</Fact>
      <Fact name={t`Sent`}>{time(message.sentAt)}</Fact>
      <Fact name={t`Sent as`}>{message.transport && TRANSPORTS[message.transport]}</Fact>
      <Fact name={t`Delivered`}>{time(message.deliveredAt)}</Fact>
      <Fact name={t`Read`}>{time(message.readAt)}</Fact>
      <Fact name={t`Source`}>{message.source}</Fact>
      <Fact name={t`Correlation ID`}>{message.correlationId}</Fact>
      <Fact name={t`Trace ID`}>{message.traceId}</Fact>
      <Fact name={t`Batch ID`}>{message.batchId}</Fact>
      <Fact name={t`Message ID`}>{message._id}</Fact>
    </Facts>
  );
}

/** By its place in the campaign as it is now; in a batch, which never changes, by its number. */
function Step({ message: { campaignId, variant }, index }: { message: Message; index: number }) {
  const { t } = useLingui();
  const { data } = useRead(
    'GET /api/campaigns/{id}',
    { params: { id: campaignId ?? '' } },
    { enabled: campaignId !== null },
  );
  const number = data ? placeOfIndex(data.campaign, index) : index + 1;
  if (campaignId !== null && !data) return <>…</>;
  const step = number === 0 ? t`Removed since` : String(number);
  return <>{variant ? t`${step}, variant ${variant}` : step}</>;
}

function CampaignName({ id }: { id: string }) {
  const { data } = useRead('GET /api/campaigns/{id}', { params: { id } });
  return <>{data?.campaign.name ?? id}</>;
}
