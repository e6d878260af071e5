import { Trans, useLingui } from '@lingui/react/macro';
import { Link } from '@tanstack/react-router';
import { useLiveInterval } from '#console/api/live.ts';
import { useRead } from '#console/api/queries.ts';
import { Button } from '#console/components/button.tsx';
import { Card } from '#console/components/page.tsx';
import { ShortTime } from '#console/components/short-time.tsx';
import { ErrorState, SkeletonRows } from '#console/components/states.tsx';
import { addressName } from '#console/lib/format.ts';
import { type Suspicion, useDecision } from '#console/pages/inbox/suspicion.ts';

/** Replies that ask to be left alone in other words than the keywords: campaigns wait until somebody decides. */
export function Suspected() {
  const { t } = useLingui();
  const { data, error, refetch } = useRead(
    'GET /api/opt-outs/suspected',
    { query: { limit: 200 } },
    { refetchInterval: useLiveInterval() },
  );
  return (
    <Card title={t`Suspected opt-outs`}>
      {error && !data ? (
        <ErrorState error={error} retry={() => void refetch()} />
      ) : !data ? (
        <SkeletonRows rows={2} />
      ) : data.suspicions.length === 0 ? (
        <p className="px-4 py-3 text-muted">
          <Trans>Nothing to decide. Campaigns to a contact wait while there is.</Trans>
        </p>
      ) : (
        <ul aria-label={t`Suspected opt-outs`} className="divide-y divide-line">
          {data.suspicions.map((suspicion, index) => (
            <Row key={suspicion._id} suspicion={suspicion} isNamed={index < MOST_NAMED} />
          ))}
        </ul>
      )}
    </Card>
  );
}

/** Each name is a request. */
const MOST_NAMED = 20;

function Row({
  suspicion: { _id, address, leadId, message, createdAt },
  isNamed,
}: {
  suspicion: Suspicion;
  isNamed: boolean;
}) {
  const { t } = useLingui();
  const { act, isPending } = useDecision(_id);
  const options = { enabled: isNamed && leadId !== null };
  const lead = useRead('GET /api/leads/{id}', { params: { id: leadId ?? '' } }, options).data?.lead;
  const shownAddress = addressName(address);
  const name = [lead?.firstName, lead?.lastName].filter(Boolean).join(' ') || shownAddress;
  return (
    <li className="flex flex-wrap items-center gap-x-4 gap-y-2 px-4 py-3">
      <div className="min-w-0 flex-1 basis-64">
        <p className="flex flex-wrap items-baseline gap-x-2">
          <Link to="/inbox/{-$address}" params={{ address } as never} className="font-medium hover:underline">
            {name}
          </Link>
          {name !== shownAddress && <span className="text-muted">{shownAddress}</span>}
          <ShortTime at={createdAt} />
        </p>
        <p className="line-clamp-3 break-words">“{message}”</p>
      </div>
      <div className="flex gap-2">
        <Button
          small
          kind="primary"
          busy={isPending}
          aria-label={t`Opt out ${name}`}
          onClick={() => act('confirm')}
        >
          <Trans>Opt out</Trans>
        </Button>
        <Button small aria-label={t`Dismiss the suspicion about ${name}`} onClick={() => act('dismiss')}>
          <Trans>Dismiss</Trans>
        </Button>
      </div>
    </li>
  );
}
