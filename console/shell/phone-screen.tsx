import { Trans, useLingui } from '@lingui/react/macro';
import { CheckCheck, SendHorizontal, X } from 'lucide-react';
import { type KeyboardEvent, type ReactNode, useEffect, useRef, useState } from 'react';
import { useLiveInterval } from '#console/api/live.ts';
import { request } from '#console/api/client.ts';
import { refreshReads, useRead, useWrite } from '#console/api/queries.ts';
import type { ResponseOf } from '#console/api/routes.ts';
import { useTimeZone } from '#console/api/workspace.ts';
import { Button, IconButton } from '#console/components/button.tsx';
import { toastError } from '#console/components/toast.tsx';
import { shortTimeOf } from '#console/lib/format.ts';
import type { Tapback } from '#console/lib/reactions.ts';
import { PhoneBubble, type PhoneMessage, Said } from './phone-bubble.tsx';

const THREAD = 'GET /api/conversations/{address}';
const REFRESH = [
  'GET /api/conversations',
  'GET /api/conversations/counts',
  'GET /api/attention',
  THREAD,
  'GET /api/knowledge-base/auto-replies',
  'GET /api/opt-outs/suspected',
] as const;
const ARRIVED: ReadonlySet<string> = new Set(['sent', 'delivered', 'fallback']);

/** How often is asked whether a line shows that somebody types: the event stream tells nothing of it. */
const LOOK_MS = 1500;
/** Phones repeat that somebody types. */
const TYPING_MS = 10_000;

/** What the next text of the person is: an answer to a message, or its new text. */
interface Writing {
  as: 'answer' | 'edit';
  item: PhoneMessage;
}

/** What the contact sees: only what has arrived. */
export function PhoneScreen({
  contact,
  isKnown,
  workspaceName,
}: {
  contact: string;
  /** Whether there is a conversation. */
  isKnown: boolean;
  workspaceName: string;
}) {
  const { t } = useLingui();
  const thread = useRead(
    THREAD,
    { params: { address: contact }, query: { limit: 50 } },
    { enabled: isKnown, refetchInterval: useLiveInterval() },
  );
  const phone = useRead(
    'GET /api/test/phone',
    { query: { contact } },
    { enabled: isKnown, refetchInterval: LOOK_MS },
  );
  const lines = useRead('GET /api/lines/by-user', {});
  const messages = thread.data?.messages ?? [];
  const arrived = messages
    .filter(({ direction, status }) => direction === 'in' || ARRIVED.has(status ?? ''))
    .toReversed();
  const [text, setText] = useState('');
  const [writing, setWriting] = useState<Writing>();
  const field = useRef<HTMLInputElement>(null);
  /** What gets the focus when the menu of a message closes. Null: its button. */
  const focusAfter = useRef<HTMLElement>(null);
  const write = useWrite('POST /api/test/inbound', { refresh: REFRESH });
  const act = useWrite('POST /api/test/actions', { refresh: REFRESH });
  const type = useTyping(contact, isKnown);
  const stop = (): void => {
    if (writing?.as === 'edit') setText('');
    setWriting(undefined);
    type('');
  };
  const say = (said: string, as?: Writing): void => {
    if (said.trim() === '' || write.isPending || act.isPending) return;
    const done = {
      onSuccess: () => {
        setText((now) => (now === said ? '' : now));
        setWriting((now) => (now === as ? undefined : now));
      },
      onError: toastError,
    };
    type('');
    if (as?.as === 'edit')
      act.mutate({ body: { kind: 'edit', messageId: as.item.messageId, text: said } }, done);
    else
      write.mutate(
        { body: { from: contact, text: said, ...(as && { replyToMessageId: as.item.messageId }) } },
        done,
      );
  };
  const react = ({ messageId }: PhoneMessage, reaction: Tapback, remove: boolean): void =>
    act.mutate({ body: { kind: 'reaction', messageId, reaction, remove } }, { onError: toastError });
  const last = arrived.findLast(({ direction, unsentAt }) => direction === 'out' && unsentAt === null);
  return (
    <>
      <Shown
        arrived={arrived}
        phone={phone.data}
        workspaceName={workspaceName}
        capabilitiesOf={(id) => lines.data?.lines.find(({ _id }) => _id === id)?.capabilities ?? []}
        acts={{
          react: (item, reaction, remove) => {
            focusAfter.current = null;
            react(item, reaction, remove);
          },
          answer: (item) => {
            focusAfter.current = field.current;
            stop();
            setWriting({ as: 'answer', item });
          },
          edit: (item) => {
            focusAfter.current = field.current;
            setWriting({ as: 'edit', item });
            setText(item.message);
          },
          unsend: ({ messageId }) => {
            focusAfter.current = field.current;
            if (writing?.item.messageId === messageId) stop();
            act.mutate({ body: { kind: 'unsend', messageId } }, { onError: toastError });
          },
        }}
        focusAfter={focusAfter}
      />
      <div className="flex flex-col gap-2 border-t border-line p-2">
        <ul aria-label={t`Quick answers`} className="flex flex-wrap gap-1">
          {[t`Yes, please`, t`How much is it?`, t`Please take me off your list`, 'STOP'].map((answer) => (
            <Quick key={answer} onClick={() => say(answer)}>
              {answer}
            </Quick>
          ))}
          {last && (
            <Quick onClick={() => react(last, 'love', false)}>
              ❤️ <Trans>Love the last message</Trans>
            </Quick>
          )}
        </ul>
        {writing && (
          <div className="flex items-center gap-1 rounded-lg bg-hover py-0.5 pl-2 text-xs">
            <p className="min-w-0 flex-1 truncate">
              <span className="font-medium">
                {writing.as === 'edit' ? <Trans>Editing:</Trans> : <Trans>Answering:</Trans>}
              </span>{' '}
              <Said item={writing.item} workspaceName={workspaceName} />
            </p>
            <IconButton
              label={writing.as === 'edit' ? t`Leave it as it is` : t`Answer no message in particular`}
              className="size-6"
              onClick={() => {
                stop();
                field.current?.focus();
              }}
            >
              <X className="size-3.5" aria-hidden="true" />
            </IconButton>
          </div>
        )}
        <form
          className="flex items-center gap-1"
          onSubmit={(event) => {
            event.preventDefault();
            say(text, writing);
          }}
        >
          <input
            ref={field}
            aria-label={t`Write as the contact`}
            placeholder={t`Write as the contact`}
            className="input-box h-9 min-w-0 flex-1"
            value={text}
            onChange={(event) => {
              setText(event.target.value);
              type(event.target.value);
            }}
            onKeyDown={(event: KeyboardEvent) => {
              if (event.key === 'Escape' && writing) stop();
            }}
          />
          <IconButton
            label={t`Send as the contact`}
            type="submit"
            disabled={text.trim() === '' || write.isPending || act.isPending}
          >
            <SendHorizontal className="size-4" aria-hidden="true" />
          </IconButton>
        </form>
        <ReadAll arrived={arrived} />
      </div>
    </>
  );
}

/** Reports what is in the field as typing: once it begins, again after a while, and when it ends. */
function useTyping(contact: string, isKnown: boolean): (text: string) => void {
  const toldAt = useRef<number | null>(null);
  const tell = (state: 'on' | 'off'): void => {
    toldAt.current = state === 'on' ? performance.now() : null;
    void request('POST /api/test/actions', { body: { kind: 'typing', from: contact, state } }).catch(
      toastError,
    );
  };
  return (text) => {
    if (!isKnown) return;
    if (text === '') {
      if (toldAt.current !== null) tell('off');
    } else if (toldAt.current === null || performance.now() - toldAt.current > TYPING_MS) tell('on');
  };
}

function Shown({
  arrived,
  phone,
  workspaceName,
  capabilitiesOf,
  acts,
  focusAfter,
}: Pick<Parameters<typeof PhoneBubble>[0], 'workspaceName' | 'acts' | 'focusAfter'> & {
  arrived: readonly PhoneMessage[];
  phone: ResponseOf<'GET /api/test/phone'> | undefined;
  capabilitiesOf: (lineId: string | null) => readonly string[];
}) {
  const { t } = useLingui();
  const zone = useTimeZone();
  const end = useRef<HTMLDivElement>(null);
  const newest = `${arrived.at(-1)?.messageId} ${phone?.typing}`;
  useEffect(() => {
    end.current?.scrollIntoView({ block: 'nearest' });
  }, [newest]);
  const read = phone?.read ?? null;
  const lastMine = arrived.findLast(({ direction }) => direction === 'in')?.messageId;
  const receiptOf = (messageId: string) => {
    if (messageId === read?.messageId) {
      const time = shortTimeOf(read.at, zone);
      return t`Read ${time}`;
    }
    return messageId === lastMine ? t`Delivered` : null;
  };
  return (
    <div
      role="log"
      aria-label={t`On the phone`}
      tabIndex={0}
      className="flex min-h-0 flex-1 flex-col gap-1.5 scroll-y p-3 -outline-offset-2"
    >
      {arrived.length === 0 && (
        <p className="m-auto text-center text-muted">
          <Trans>Nothing from {workspaceName} yet. Write the first message.</Trans>
        </p>
      )}
      {arrived.map((item) => (
        <PhoneBubble
          key={item.messageId}
          item={item}
          answered={arrived.find(({ messageId }) => messageId === item.replyToMessageId)}
          workspaceName={workspaceName}
          capabilities={capabilitiesOf(item.lineId)}
          acts={acts}
          focusAfter={focusAfter}
          receipt={receiptOf(item.messageId)}
        />
      ))}
      {phone?.typing && (
        <p className="self-start rounded-2xl rounded-bl-md bg-hover px-3 py-1.5 text-muted">
          <span aria-hidden="true" className="animate-pulse">
            •••
          </span>
          <span className="sr-only">
            <Trans>{workspaceName} types</Trans>
          </span>
        </p>
      )}
      <div ref={end} />
    </div>
  );
}

const Quick = ({ onClick, children }: { onClick: () => void; children: ReactNode }) => (
  <li>
    <button
      type="button"
      className="h-6 rounded-full border border-line px-2 text-xs text-muted hover:bg-hover hover:text-ink"
      onClick={onClick}
    >
      {children}
    </button>
  </li>
);

function ReadAll({ arrived }: { arrived: readonly PhoneMessage[] }) {
  const unread = arrived.filter(
    ({ direction, readAt, unsentAt }) => direction === 'out' && readAt === null && unsentAt === null,
  );
  const readAll = async (): Promise<void> => {
    try {
      for (const { messageId } of unread)
        await request('POST /api/test/receipts', { body: { messageId, status: 'read' } });
    } catch (error) {
      toastError(error);
    }
    await refreshReads(REFRESH);
  };
  if (unread.length === 0) return null;
  return (
    <Button
      small
      icon={<CheckCheck className="size-3.5" aria-hidden="true" />}
      onClick={() => void readAll()}
    >
      <Trans>Read it all</Trans>
    </Button>
  );
}
