import { Trans } from '@lingui/react/macro';
import { Link } from '@tanstack/react-router';
import { useLiveInterval } from '#console/api/live.ts';
import { useRead } from '#console/api/queries.ts';
import { Spinner } from '#console/components/spinner.tsx';
import { ErrorState } from '#console/components/states.tsx';
import type { StepProps } from './step-props.ts';

/** Waits for the first reply, which the event stream reports, and shows it. */
export function ReplyStep({ done }: StepProps) {
  const conversations = useRead(
    'GET /api/conversations',
    { query: { limit: 20 } },
    { refetchInterval: useLiveInterval() },
  );
  const answered = conversations.data?.conversations.find(({ lastInboundAt }) => lastInboundAt !== null);
  if (conversations.error && !conversations.data) return <ErrorState error={conversations.error} />;
  const lastMessage = answered?.lastMessage;
  const writer = answered && (
    <Link
      to="/inbox/{-$address}"
      params={{ address: answered.address }}
      className="text-accent-ink underline"
    >
      {answered.name}
    </Link>
  );
  return (
    <div role="status">
      {!done ? (
        <p className="flex items-center gap-2 text-muted">
          <Spinner />
          <span>
            <Trans>
              Answer the message on your phone or in your mailbox. The reply appears here by itself.
            </Trans>
          </span>
        </p>
      ) : (
        answered && (
          <p>
            {answered.lastDirection === 'in' ? (
              <Trans>
                “{lastMessage}”, from {writer}
              </Trans>
            ) : (
              <Trans>A reply came from {writer}</Trans>
            )}
          </p>
        )
      )}
    </div>
  );
}
