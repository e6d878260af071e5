import { Trans, useLingui } from '@lingui/react/macro';
import { useRead, useWrite } from '#console/api/queries.ts';
import { useTimeZone } from '#console/api/workspace.ts';
import { Spinner } from '#console/components/spinner.tsx';
import { toast, toastError } from '#console/components/toast.tsx';
import { waitText } from '#console/lib/wait-names.ts';
import { eventText } from '#console/pages/messages/event-text.ts';
import { REFRESH } from './conversations.ts';

/** What a message waits for, or what became of it. */
export default function Explanation({ messageId, cancelable }: { messageId: string; cancelable: boolean }) {
  const { t } = useLingui();
  const zone = useTimeZone();
  const timeline = useRead('GET /api/messages/{id}/timeline', { params: { id: messageId } });
  const cancel = useWrite('POST /api/messages/{id}/cancel', {
    refresh: [...REFRESH, 'GET /api/messages/{id}/timeline'],
  });
  if (timeline.error && !timeline.data) return <p className="text-bad">{timeline.error.message}</p>;
  if (!timeline.data) return <Spinner />;
  const { waitingFor, events } = timeline.data;
  const last = events.at(-1);
  return (
    <div className="flex max-w-sm flex-col items-start gap-1 rounded-lg border border-line bg-surface px-3 py-2 text-ink">
      <p>{waitingFor ? waitText(waitingFor) : last && eventText(last, zone)}</p>
      {cancelable && (
        <button
          type="button"
          className="font-medium text-bad hover:underline"
          onClick={() =>
            cancel.mutate(
              { params: { id: messageId } },
              { onSuccess: () => toast(t`The message was canceled`), onError: toastError },
            )
          }
        >
          <Trans>Cancel the message</Trans>
        </button>
      )}
    </div>
  );
}
