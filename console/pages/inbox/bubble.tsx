import { Check, CheckCheck, CircleAlert, Clock, type LucideIcon, Reply } from 'lucide-react';
import { useState } from 'react';
import { useRead, useWrite } from '#console/api/queries.ts';
import { useTimeZone } from '#console/api/workspace.ts';
import { classes } from '#console/components/class-names.ts';
import { Spinner } from '#console/components/spinner.tsx';
import { toast, toastError } from '#console/components/toast.tsx';
import { fullTimeOf, timeOf } from '#console/lib/format.ts';
import { Attachment } from './attachment.tsx';
import { REFRESH, type ThreadItem } from './conversations.ts';

const REACTIONS: Record<string, string> = {
  love: '❤️',
  like: '👍',
  dislike: '👎',
  laugh: '😂',
  emphasize: '‼️',
  question: '❓',
};

/** A message and its delivery status. */
export function Bubble({ item }: { item: ThreadItem }) {
  const { direction, message, attachmentUrls, attachmentNames, reactions } = item;
  const isOurs = direction === 'out';
  const isUnsent = item.status === 'pending' || item.status === 'scheduled';
  return (
    <div className={classes('flex max-w-[80%] flex-col gap-1', isOurs ? 'items-end self-end' : 'self-start')}>
      {attachmentUrls.map((url, index) => (
        <Attachment key={url} url={url} name={attachmentNames[index] ?? 'Attachment'} />
      ))}
      {message !== '' && (
        <p
          className={classes(
            'rounded-2xl px-3.5 py-2 break-words whitespace-pre-wrap',
            !isOurs && 'rounded-bl-md border border-line bg-surface',
            isOurs && !isUnsent && 'rounded-br-md bg-bubble text-white',
            isOurs && isUnsent && 'rounded-br-md border border-dashed border-edge text-ink',
          )}
        >
          {message}
        </p>
      )}
      {reactions.length > 0 && (
        <p className="flex gap-1">
          {reactions.map(({ reaction, from }) => (
            <span
              key={`${from}${reaction}`}
              role="img"
              aria-label={`Reaction: ${reaction}`}
              className="rounded-full border border-line bg-surface px-1.5 text-xs"
            >
              {REACTIONS[reaction] ?? reaction}
            </span>
          ))}
        </p>
      )}
      <Fate item={item} />
    </div>
  );
}

const FATES: Record<string, { icon: LucideIcon; text: string; tone?: string }> = {
  pending: { icon: Clock, text: 'Waiting' },
  scheduled: { icon: Clock, text: 'Scheduled' },
  sent: { icon: Check, text: 'Sent' },
  delivered: { icon: CheckCheck, text: 'Delivered' },
  fallback: { icon: Reply, text: 'Sent as SMS, or not reachable', tone: 'text-warn' },
  failed: { icon: CircleAlert, text: 'Failed', tone: 'text-bad' },
  canceled: { icon: CircleAlert, text: 'Canceled' },
};

/** The time, the delivery status of outbound messages, and why a message waits or failed. */
function Fate({ item }: { item: ThreadItem }) {
  const zone = useTimeZone();
  const [why, setWhy] = useState(false);
  const { status, at, autoReply, messageId } = item;
  const fate = status === null ? undefined : FATES[status];
  const explains =
    status === 'pending' || status === 'scheduled' || status === 'failed' || status === 'fallback';
  return (
    <div className="flex flex-col items-[inherit] gap-1 text-xs text-muted">
      <p className="flex items-center gap-1.5">
        <time dateTime={at} title={fullTimeOf(at, zone)}>
          {timeOf(at, zone)}
        </time>
        {autoReply && <span>Automatic reply</span>}
        {fate && (
          <span className={classes('flex items-center gap-1', fate.tone)}>
            <fate.icon className="size-3.5" aria-hidden="true" />
            {fate.text}
          </span>
        )}
        {explains && (
          <button
            type="button"
            aria-expanded={why}
            onClick={() => setWhy(!why)}
            className="rounded underline decoration-dotted underline-offset-2 hover:text-ink"
          >
            Why?
          </button>
        )}
      </p>
      {why && (
        <Explanation messageId={messageId} cancelable={status === 'pending' || status === 'scheduled'} />
      )}
    </div>
  );
}

function Explanation({ messageId, cancelable }: { messageId: string; cancelable: boolean }) {
  const timeline = useRead('GET /api/messages/{id}/timeline', { params: { id: messageId } });
  const cancel = useWrite('POST /api/messages/{id}/cancel', { refresh: REFRESH });
  if (timeline.error) return <p className="text-bad">{timeline.error.message}</p>;
  if (!timeline.data) return <Spinner />;
  const { waitingFor, events } = timeline.data;
  return (
    <div className="flex max-w-sm flex-col items-start gap-1 rounded-lg border border-line bg-surface px-3 py-2 text-ink">
      <p>{waitingFor?.text ?? events.at(-1)?.text}</p>
      {cancelable && (
        <button
          type="button"
          className="font-medium text-bad hover:underline"
          onClick={() =>
            cancel.mutate(
              { params: { id: messageId } },
              { onSuccess: () => toast('The message was canceled'), onError: toastError },
            )
          }
        >
          Cancel the message
        </button>
      )}
    </div>
  );
}
