import { Trans, useLingui } from '@lingui/react/macro';
import { useTimeZone } from '#console/api/workspace.ts';
import { Badge } from '#console/components/badge.tsx';
import { Button } from '#console/components/button.tsx';
import { Drawer } from '#console/components/dialog.tsx';
import { Fact, Facts } from '#console/components/facts.tsx';
import { fullTimeOf } from '#console/lib/format.ts';
import type { Search } from '#console/lib/search.ts';
import { callerName, type Request, toneOf } from './request.ts';

interface Props {
  request: Request | undefined;
  close: () => void;
  filter: (filters: Search) => void;
}

/** One request, and the way to others like it. */
export function RequestDrawer({ request, close, filter }: Props) {
  const { t } = useLingui();
  const zone = useTimeZone();
  return (
    <Drawer
      open={request !== undefined}
      onClose={close}
      title={request ? `${request.method} ${request.path}` : t`Request`}
      description={request && fullTimeOf(request.at, zone)}
    >
      {request && <Details request={request} filter={filter} />}
    </Drawer>
  );
}

function Details({ request, filter }: { request: Request; filter: (filters: Search) => void }) {
  const { t } = useLingui();
  const { actor, status, code, count, durationMs, method, path, requestId } = request;
  const caller = callerName(request);
  return (
    <>
      <Facts>
        <Fact name={t`Status`}>
          <Badge tone={toneOf(status)}>{status}</Badge>
        </Fact>
        <Fact name={t`Code`}>{code}</Fact>
        <Fact name={actor.type === 'key' ? t`API key` : t`Person`}>{caller}</Fact>
        <Fact name={t`Requests`}>{count === 1 ? null : count}</Fact>
        <Fact name={count === 1 ? t`Time taken` : t`Slowest`}>{`${durationMs} ms`}</Fact>
        <Fact name={t`Request ID`}>{requestId}</Fact>
      </Facts>
      <div className="mt-6 flex flex-wrap gap-2">
        <Button small onClick={() => filter({ method, path })}>
          <Trans>All requests to this endpoint</Trans>
        </Button>
        {actor.id !== null && (
          <Button small onClick={() => filter({ actorId: actor.id ?? '' })}>
            <Trans>All requests by {caller}</Trans>
          </Button>
        )}
      </div>
    </>
  );
}
