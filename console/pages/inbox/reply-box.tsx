import { t } from '@lingui/core/macro';
import { Trans, useLingui } from '@lingui/react/macro';
import { CalendarClock, SendHorizontal, StickyNote } from 'lucide-react';
import { useRef, useState } from 'react';
import { useWrite } from '#console/api/queries.ts';
import { Attachments, type UploadedFile } from '#console/components/attachments.tsx';
import { Button, IconButton } from '#console/components/button.tsx';
import { toastError } from '#console/components/toast.tsx';
import { inserted } from '#console/lib/insert.ts';
import { CHANNELS, type Line, lineName } from '#console/lib/line.ts';
import { useShortcuts } from '#console/lib/shortcuts.ts';
import { useEdits, useUnsent } from '#console/lib/unsent.ts';
import { isGroup, recipientOf, REFRESH } from './conversations.ts';
import { sendAfterUndo, stopOf, toastWithUndo } from './send-with-undo.ts';
import { beginSending, useSending } from './sending.ts';
import { NoteBox } from './note-box.tsx';
import { SnippetsMenu } from './snippets-menu.tsx';
import { TimeMenu } from './time-menu.tsx';

const NO_FILES: UploadedFile[] = [];

export function ReplyBox({
  address,
  line,
  optedOut,
  onTyping,
}: {
  address: string;
  line: Line | undefined;
  optedOut: boolean;
  onTyping: (isTyping: boolean) => void;
}) {
  const { t } = useLingui();
  const unsent = useUnsent(`reply ${address}`);
  const text = unsent.text ?? '';
  const { values, change: changeFiles } = useEdits(`attached ${address}`, { files: NO_FILES });
  const { files } = values;
  const setFiles = (update: (now: UploadedFile[]) => UploadedFile[]): void =>
    changeFiles((now) => ({ files: update(now.files) }));
  const [uploading, setUploading] = useState(false);
  // What is on its way is shown in the thread, and comes back here if it is refused.
  const isSending = useSending(address).some((one) => one.messageId === null && one.text === text);
  const shown = isSending ? '' : text;
  const shownFiles = isSending ? NO_FILES : files;
  const box = useRef<HTMLTextAreaElement>(null);
  const reply = useWrite('POST /api/inbox/send-reply', { refresh: REFRESH });
  const snippets = useRef<HTMLButtonElement>(null);
  const [isNoting, setNoting] = useState(false);
  useShortcuts({
    r: () => box.current?.focus(),
    n: () => setNoting(true),
    p: () => snippets.current?.click(),
  });

  const change = (next: string): void => {
    unsent.change(next === '' ? null : next);
    onTyping(next.trim() !== '');
  };
  /** What was not sent is before what was written meanwhile. */
  const putBack = (): void => {
    const written = unsent.current() ?? '';
    if (written !== text) change([text, written].filter((part) => part !== '').join('\n'));
    setFiles((current) => [...files, ...current.filter((file) => !files.includes(file))]);
  };
  /** What was written or attached meanwhile stays. */
  const takeOut = (): void => {
    if ((unsent.current() ?? '') === text) change('');
    setFiles((current) => current.filter((file) => !files.includes(file)));
  };
  const canSend = (shown.trim() !== '' || shownFiles.length > 0) && !uploading;
  /** @param at null: after the seconds in which it can be undone. */
  const submit = (at: Date | null = null): void => {
    if (!canSend) return;
    const scheduledDate = at?.toISOString() ?? sendAfterUndo();
    const sending =
      at === null ? beginSending({ address, text, files: files.length, at: scheduledDate }) : null;
    reply.mutate(
      {
        body: {
          ...recipientOf(address),
          ...(text.trim() !== '' && { message: text }),
          ...(files.length > 0 && { attachmentUrls: files.map(({ url }) => url) }),
          scheduledDate,
        },
      },
      {
        onEnd: (isAccepted) => (isAccepted ? takeOut() : putBack()),
        onSuccess: ({ _id }) => {
          sending?.accepted(_id);
          toastWithUndo(_id, line, {
            at,
            onTakenBack: () => {
              putBack();
              box.current?.focus();
            },
          });
        },
        onError: (error) => {
          sending?.refused();
          toastError(error);
        },
      },
    );
  };

  if (isNoting) return <NoteBox address={address} close={() => setNoting(false)} />;
  if (optedOut) {
    return (
      <div className="flex items-center gap-2 px-1">
        <p className="flex-1 py-2 text-muted">
          {isGroup(address) ? (
            <Trans>Somebody in this group has opted out of messages, so nothing can be sent to it.</Trans>
          ) : (
            <Trans>This contact has opted out of messages, so nothing can be sent to them.</Trans>
          )}
        </p>
        <NoteButton onClick={() => setNoting(true)} />
      </div>
    );
  }
  return (
    <form
      aria-label={t`Reply`}
      onSubmit={(event) => {
        // Dialogs of the reply have forms of their own, whose events come here, too.
        if (event.target !== event.currentTarget) return;
        event.preventDefault();
        submit();
      }}
    >
      <textarea
        ref={box}
        aria-label={t`Reply`}
        placeholder={t`Write a reply`}
        rows={1}
        className="input-box field-sizing-content max-h-48 min-h-9 resize-none focus:min-h-14"
        value={shown}
        onChange={(event) => change(event.target.value)}
        onKeyDown={(event) => {
          if (event.key === 'Enter' && (event.ctrlKey || event.metaKey)) submit();
          if (event.key === 'Escape') box.current?.blur();
        }}
      />
      <div className="mt-2 flex items-center gap-2">
        <Attachments files={shownFiles} onChange={setFiles} onBusy={setUploading} />
        <SnippetsMenu
          button={snippets}
          box={box}
          written={shown}
          insert={(snippet) => inserted(box.current, box.current?.value ?? '', snippet, change)}
        />
        <NoteButton onClick={() => setNoting(true)} />
        <span className="min-w-0 truncate text-xs text-muted">{line && <SendingLine line={line} />}</span>
        <span className="hidden text-xs text-muted sm:inline">Ctrl Enter</span>
        {canSend && (
          <TimeMenu
            side="top"
            title={t`Send later`}
            submit={t`Send then`}
            trigger={
              <IconButton label={t`Send later`}>
                <CalendarClock className="size-4" aria-hidden="true" />
              </IconButton>
            }
            choose={submit}
          />
        )}
        <Button
          kind="primary"
          type="submit"
          busy={uploading}
          disabled={!canSend}
          icon={<SendHorizontal className="size-4" aria-hidden="true" />}
        >
          <Trans>Send</Trans>
        </Button>
      </div>
    </form>
  );
}

/** From which line the reply leaves, and what it would wait for. */
function SendingLine({ line }: { line: Line }) {
  const name = lineName(line);
  const channel = CHANNELS[line.requestedChannelType];
  const stop = stopOf(line);
  return stop === null ? (
    <Trans>
      From {name} · {channel}
    </Trans>
  ) : (
    <span className="text-warn">
      <Trans>
        From {name} · {channel}: {stop}
      </Trans>
    </span>
  );
}

const NoteButton = ({ onClick }: { onClick: () => void }) => (
  <IconButton label={t`Write a note`} onClick={onClick}>
    <StickyNote className="size-4" aria-hidden="true" />
  </IconButton>
);
