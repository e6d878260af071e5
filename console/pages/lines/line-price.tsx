import { Trans } from '@lingui/react/macro';
import { useRead } from '#console/api/queries.ts';
import { useBilling } from '#console/api/workspace.ts';
import type { CHANNELS } from '#console/lib/line.ts';
import { priceOf } from '#console/lib/price.ts';

/** What another line of the channel costs, before it is requested. */
export function LinePrice({ channel }: { channel: keyof typeof CHANNELS }) {
  const billing = useBilling();
  const offers = useRead('GET /api/line-requests/prices', {}, { enabled: billing.workspace }).data;
  return (
    <p aria-live="polite" className="text-muted empty:hidden">
      {offers && <Offer {...offers[channel === 'email' ? 'email' : 'phone']} />}
    </p>
  );
}

function Offer({ grant, price }: { grant: string | null; price: Parameters<typeof priceOf>[0] | null }) {
  const cost = price && priceOf(price);
  if (grant === 'included') return <Trans>Your plan includes this line: it costs nothing more.</Trans>;
  if (grant === 'invoiced')
    return cost === null ? (
      <Trans>This line costs extra, on the agency’s invoice.</Trans>
    ) : (
      <Trans>This line costs {cost}, plus taxes, on the agency’s invoice.</Trans>
    );
  if (grant === 'payment')
    return cost === null ? (
      <Trans>This line costs extra. You see the price before you pay.</Trans>
    ) : (
      <Trans>This line costs {cost}, plus taxes. You pay on a page of the payment provider.</Trans>
    );
  return <Trans>Your plan does not allow another line like this.</Trans>;
}
