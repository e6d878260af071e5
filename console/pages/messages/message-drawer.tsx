import { Trans, useLingui } from '@lingui/react/macro';
import { Link } from '@tanstack/react-router';
import { Ban, Clock } from 'lucide-react';
import { useLiveInterval } from '#console/api/live.ts';
import { useRead, useWrite } from '#console/api/queries.ts';
import { useTimeZone } from '#console/api/workspace.ts';
import { Status } from '#console/components/badge.tsx';
import { ConfirmButton } from '#console/components/confirm.tsx';
import { Drawer } from '#console/components/dialog.tsx';
import { Section } from '#console/components/page.tsx';
import { ErrorState, SkeletonRows } from '#console/components/states.tsx';
import { toast, toastError } from '#console/components/toast.tsx';
import { WorkflowLink } from '#console/components/workflow-link.tsx';
import { addressName, fullTimeOf, relativeTimeOf, wordsOf } from '#console/lib/format.ts';
import { CHANNELS, type Line, lineName } from '#console/lib/line.ts';
import { workspaceNow } from '#console/lib/workspace-time.ts';
import { waitText } from '#console/lib/wait-names.ts';
import { addressOf, isWaiting, type Message } from './message.ts';
import { MessageFacts } from './message-facts.tsx';
import { Events, type Timeline } from './timeline.tsx';

/** One message: what it waits for, its text, and what has happened to it. */
export function MessageDrawer({
  id,
  lines,
  close,
}: {
  /** Empty: none. */
  id: string;
  lines: readonly Line[];
  close: () => void;
}) {
  const { t } = useLingui();
  const options = { enabled: id !== '', refetchInterval: useLiveInterval() };
  const message = useRead('GET /api/messages/{id}', { params: { id } }, options);
  const timeline = useRead('GET /api/messages/{id}/timeline', { params: { id } }, options);
  const error = message.error ?? timeline.error;
  const recipient = message.data && (message.data.recipientName ?? addressName(addressOf(message.data)));
  const line = lines.find(({ _id }) => _id === message.data?.fromLineId);
  return (
    <Drawer
      open={id !== ''}
      onClose={close}
      title={message.data ? t`To ${recipient}` : t`Message`}
      description={
        message.data &&
        [CHANNELS[message.data.messageType], line && lineName(line)].filter(Boolean).join(' · ')
      }
    >
      {id === '' ? null : message.data && timeline.data ? (
        <Details message={message.data} timeline={timeline.data} line={line} />
      ) : error ? (
        <ErrorState
          error={error}
          retry={() => {
            void message.refetch();
            void timeline.refetch();
          }}
        />
      ) : (
        <SkeletonRows rows={4} />
      )}
    </Drawer>
  );
}

function Details({
  message,
  timeline,
  line,
}: {
  message: Message;
  timeline: Timeline;
  line: Line | undefined;
}) {
  const { t } = useLingui();
  return (
    <div className="flex flex-col gap-5">
      <div className="flex flex-wrap items-center gap-2">
        <Status status={message.status} />
        <span className="flex-1" />
        <Link
          to="/inbox/{-$address}"
          params={{ address: addressOf(message) }}
          className="rounded font-medium text-accent-ink hover:underline"
        >
          <Trans>Open the conversation</Trans>
        </Link>
        {isWaiting(message) && <Cancel message={message} />}
      </div>
      {timeline.waitingFor && <Waiting waitingFor={timeline.waitingFor} />}
      <Section title={t`Text`}>
        <div className="rounded-lg border border-line p-3">
          {message.subject !== null && <p className="mb-1 font-medium">{message.subject}</p>}
          <p className="break-words whitespace-pre-wrap">{message.message || t`No text`}</p>
          {message.attachmentUrls.map((url, index) => (
            <a
              key={url}
              href={url}
              target="_blank"
              rel="noopener noreferrer"
              className="mt-2 block truncate text-accent-ink hover:underline"
            >
              {message.attachmentNames[index] ?? t`Attachment`}
            </a>
          ))}
        </div>
      </Section>
      <Section title={t`Timeline`}>
        <Events events={timeline.events} />
        {message.fromLineId !== null && <WorkflowLink id={`line-pacer:${message.fromLineId}`} />}
      </Section>
      <Section title={t`Details`}>
        <MessageFacts message={message} line={line} />
      </Section>
    </div>
  );
}

function Waiting({ waitingFor }: { waitingFor: NonNullable<Timeline['waitingFor']> }) {
  const { until } = waitingFor;
  const zone = useTimeZone();
  return (
    <div className="flex gap-2.5 rounded-lg bg-info-soft px-3 py-2.5 text-info">
      <Clock className="mt-0.5 size-4 shrink-0" aria-hidden="true" />
      <div>
        <p>{waitText(waitingFor)}</p>
        {until !== null && new Date(until) > workspaceNow() && (
          <time dateTime={until} title={fullTimeOf(until, zone)} className="mt-0.5 block">
            {wordsOf(relativeTimeOf(until))}
          </time>
        )}
      </div>
    </div>
  );
}

function Cancel({ message }: { message: Message }) {
  const { t } = useLingui();
  const cancel = useWrite('POST /api/messages/{id}/cancel', {
    refresh: ['GET /api/messages', 'GET /api/messages/{id}', 'GET /api/messages/{id}/timeline'],
  });
  return (
    <ConfirmButton
      label={t`Cancel the message`}
      icon={<Ban className="size-4" aria-hidden="true" />}
      title={t`Cancel this message?`}
      confirm={t`Cancel the message`}
      busy={cancel.isPending}
      onConfirm={() =>
        cancel.mutate(
          { params: { id: message._id } },
          { onSuccess: () => toast(t`The message was canceled`), onError: toastError },
        )
      }
    >
      <Trans>It is not sent. A canceled message cannot be restored.</Trans>
    </ConfirmButton>
  );
}
