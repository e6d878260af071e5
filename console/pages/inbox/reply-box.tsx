import { t } from '@lingui/core/macro';
import { Plural, Trans, useLingui } from '@lingui/react/macro';
import { CalendarClock, CornerUpLeft, SendHorizontal, StickyNote, X } from 'lucide-react';
import { lazy, type RefObject, Suspense, useEffect, useRef, useState } from 'react';
import { useWrite } from '#console/api/queries.ts';
import { Attachments, type UploadedFile } from '#console/components/attachments.tsx';
import { classes } from '#console/components/class-names.ts';
import { Button, IconButton } from '#console/components/button.tsx';
import { toastError } from '#console/components/toast.tsx';
import { inserted } from '#console/lib/insert.ts';
import { CHANNELS, type Line, lineName } from '#console/lib/line.ts';
import { useShortcuts } from '#console/lib/shortcuts.ts';
import { useEdits, useUnsent } from '#console/lib/unsent.ts';
import { type Contact, isGroup, recipientOf, REFRESH, type ThreadItem } from './conversations.ts';
import { Quoted, useWriter } from './quote.tsx';
import { bubblesOf, MAX_BUBBLES } from './bubbles.ts';
import { useReplyOptions } from './reply-options.ts';
import { sendAfterUndo, stopOf, toastWithUndo } from './send-with-undo.ts';
import { beginSending, forgetSending, useSending } from './sending.ts';
import { useShowTyping } from './show-typing.ts';
import { NoteBox } from './note-box.tsx';
import { SnippetsMenu } from './snippets-menu.tsx';
import { TimeMenu } from './time-menu.tsx';

const EffectMenu = lazy(() => import('./effect-menu.tsx'));
const EffectName = lazy(() => import('./effect-name.tsx'));

const NO_FILES: UploadedFile[] = [];
/** The field is lower without the focus, but not before a click has ended: what it is on would move away. */
const CLICK_MS = 250;

export function ReplyBox({
  box,
  contact,
  answered,
  line,
  lastInboundAt,
  optedOut,
  onTyping,
}: {
  box: RefObject<HTMLTextAreaElement | null>;
  contact: Contact;
  /** The message that is answered, if it is loaded. */
  answered: ThreadItem | undefined;
  line: Line | undefined;
  lastInboundAt: string | null;
  optedOut: boolean;
  onTyping: (isTyping: boolean) => void;
}) {
  const { t } = useLingui();
  const { address } = contact;
  const unsent = useUnsent(`reply ${address}`);
  const text = unsent.text ?? '';
  const { values, change: changeFiles } = useEdits(`attached ${address}`, { files: NO_FILES });
  const { files } = values;
  const setFiles = (update: (now: UploadedFile[]) => UploadedFile[]): void =>
    changeFiles((now) => ({ files: update(now.files) }));
  const [uploading, setUploading] = useState(false);
  // What is on its way is shown in the thread, and comes back here if it is refused.
  const isSending = useSending(address).some(
    (one) => one.messageId === null && (one.whole ?? one.text) === text,
  );
  const shown = isSending ? '' : text;
  const shownFiles = isSending ? NO_FILES : files;
  const {
    options,
    change: changeOptions,
    takeOut: takeOptionsOut,
    putBack: putOptionsBack,
  } = useReplyOptions(address);
  const { replyTo, effect, bubbles } = isSending ? {} : options;
  const parts = bubblesOf(shown);
  const isEmail = line?.requestedChannelType === 'email' || address.includes('@');
  const canSplit = parts.length > 1 && !isEmail;
  const isSplit = canSplit && bubbles === true && parts.length <= MAX_BUBBLES;
  const canHaveEffect = line?.capabilities.includes('effects') === true;
  const { typed, stop } = useShowTyping(address, { line, lastInboundAt });
  const writer = useWriter(contact);
  const reply = useWrite('POST /api/inbox/send-reply', { refresh: REFRESH });
  const snippets = useRef<HTMLButtonElement>(null);
  const [isNoting, setNoting] = useState(false);
  const [isTall, setTall] = useState(false);
  useShortcuts({
    r: () => box.current?.focus(),
    n: () => setNoting(true),
    p: () => snippets.current?.click(),
  });

  useEffect(() => {
    if (isNoting) stop();
  }, [isNoting, stop]);
  // Whoever has just chosen what they answer writes no note.
  const [answeredBefore, setAnsweredBefore] = useState(replyTo);
  if (answeredBefore !== replyTo) {
    setAnsweredBefore(replyTo);
    if (replyTo !== undefined) setNoting(false);
  }

  const change = (next: string): void => {
    unsent.change(next === '' ? null : next);
    onTyping(next.trim() !== '');
  };
  /** What was not sent is before what was written meanwhile. */
  const putBack = (): void => {
    const written = unsent.current() ?? '';
    if (written !== text) change([text, written].filter((part) => part !== '').join('\n'));
    setFiles((current) => [...files, ...current.filter((file) => !files.includes(file))]);
    putOptionsBack(options);
  };
  /** What was written or attached meanwhile stays. */
  const takeOut = (): void => {
    if ((unsent.current() ?? '') === text) change('');
    setFiles((current) => current.filter((file) => !files.includes(file)));
    takeOptionsOut(options);
  };
  const canSend = (shown.trim() !== '' || shownFiles.length > 0) && !uploading;
  /** @param at null: after the seconds in which it can be undone. */
  const submit = (at: Date | null = null): void => {
    if (!canSend) return;
    const scheduledDate = at?.toISOString() ?? sendAfterUndo();
    stop();
    const texts = isSplit ? parts : [text];
    const sending =
      at === null
        ? texts.map((part, index) =>
            beginSending({
              address,
              text: part,
              whole: text,
              files: index === 0 ? files.length : 0,
              at: scheduledDate,
            }),
          )
        : [];
    // A phone cannot show an answer to what is gone.
    const isGone = answered?.messageId === replyTo && answered?.unsentAt !== null;
    reply.mutate(
      {
        body: {
          ...recipientOf(address),
          ...(text.trim() !== '' && { message: isSplit ? parts : text }),
          ...(replyTo !== undefined && !isGone && { replyToMessageId: replyTo }),
          ...(effect !== undefined && canHaveEffect && { effect }),
          ...(files.length > 0 && { attachmentUrls: files.map(({ url }) => url) }),
          scheduledDate,
        },
      },
      {
        onEnd: (isAccepted) => (isAccepted ? takeOut() : putBack()),
        onSuccess: ({ _id, bubbleIds }) => {
          const ids = [_id, ...bubbleIds];
          for (const [index, one] of sending.entries()) one.accepted(ids[index] ?? _id);
          toastWithUndo(_id, line, {
            at,
            onTakenBack: () => {
              for (const id of bubbleIds) forgetSending(id);
              putBack();
              box.current?.focus();
            },
          });
        },
        onError: (error) => {
          for (const one of sending) one.refused();
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
      {replyTo !== undefined && (
        <div className="mb-1.5 flex items-center gap-2 rounded-lg border-l-2 border-accent bg-canvas py-1 pl-2.5 text-xs text-muted">
          <CornerUpLeft className="size-3.5 shrink-0" aria-hidden="true" />
          <p className="min-w-0 flex-1 truncate">
            <span className="sr-only">
              <Trans>Answers</Trans>
            </span>{' '}
            {answered && <span className="font-medium">{writer(answered)}</span>} <Quoted item={answered} />
          </p>
          <IconButton
            label={t`Answer no single message`}
            className="size-7"
            onClick={() => {
              changeOptions({ replyTo: undefined });
              box.current?.focus();
            }}
          >
            <X className="size-3.5" aria-hidden="true" />
          </IconButton>
        </div>
      )}
      <textarea
        ref={box}
        aria-label={t`Reply`}
        placeholder={t`Write a reply`}
        rows={1}
        className={classes(
          'input-box field-sizing-content max-h-48 resize-none',
          isTall ? 'min-h-14' : 'min-h-9',
        )}
        onFocus={() => setTall(true)}
        value={shown}
        onChange={(event) => {
          // What is on its way takes its options along.
          if (isSending) changeOptions({ replyTo: undefined, effect: undefined, bubbles: undefined });
          change(event.target.value);
          typed(event.target.value);
        }}
        onBlur={() => {
          stop();
          setTimeout(() => setTall(document.activeElement === box.current), CLICK_MS);
        }}
        onKeyDown={(event) => {
          if (event.key === 'Enter' && (event.ctrlKey || event.metaKey)) submit();
          if (event.key === 'Escape') box.current?.blur();
        }}
      />
      {(canSplit || effect !== undefined) && (
        <div className="mt-1.5 flex flex-wrap items-center gap-x-4 gap-y-1 text-xs text-muted">
          {canSplit && (
            <label className="flex items-center gap-1.5">
              <input
                type="checkbox"
                className="size-4 accent-accent"
                checked={isSplit}
                disabled={parts.length > MAX_BUBBLES}
                onChange={(event) => changeOptions({ bubbles: event.target.checked })}
              />
              {parts.length > MAX_BUBBLES ? (
                <Trans>As separate messages: {MAX_BUBBLES} at most</Trans>
              ) : (
                <Plural
                  value={parts.length}
                  one="As # separate message, split at the blank lines"
                  other="As # separate messages, split at the blank lines"
                />
              )}
            </label>
          )}
          {effect !== undefined && (
            <span className="flex items-center gap-1">
              <Suspense fallback={null}>
                {canHaveEffect ? (
                  <Trans>
                    With the effect <EffectName effect={effect} />
                  </Trans>
                ) : (
                  <Trans>
                    Without the effect <EffectName effect={effect} />, which this line cannot show
                  </Trans>
                )}
              </Suspense>
              <IconButton
                label={t`Send without an effect`}
                className="size-6"
                onClick={() => {
                  changeOptions({ effect: undefined });
                  box.current?.focus();
                }}
              >
                <X className="size-3.5" aria-hidden="true" />
              </IconButton>
            </span>
          )}
        </div>
      )}
      <div className="mt-2 flex items-center gap-2">
        <Attachments files={shownFiles} onChange={setFiles} onBusy={setUploading} />
        <SnippetsMenu
          button={snippets}
          box={box}
          written={shown}
          insert={(snippet) => inserted(box.current, box.current?.value ?? '', snippet, change)}
        />
        {canHaveEffect && (
          <Suspense fallback={null}>
            <EffectMenu effect={effect} box={box} choose={(chosen) => changeOptions({ effect: chosen })} />
          </Suspense>
        )}
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
