import { Trans, useLingui } from '@lingui/react/macro';
import { useParams } from '@tanstack/react-router';
import { CheckCheck, SendHorizontal, X } from 'lucide-react';
import { useEffect, useRef, useState } from 'react';
import { useLiveInterval } from '#console/api/live.ts';
import { request } from '#console/api/client.ts';
import { refreshReads, useRead, useWrite } from '#console/api/queries.ts';
import { useIdentity, useTimeZone } from '#console/api/workspace.ts';
import { Button, IconButton } from '#console/components/button.tsx';
import { classes } from '#console/components/class-names.ts';
import { toastError } from '#console/components/toast.tsx';
import { addressName, shortTimeOf } from '#console/lib/format.ts';

/** A number that nobody has. */
const SOMEBODY = '+14155550123';
const LIST = 'GET /api/conversations';
const THREAD = 'GET /api/conversations/{address}';
const REFRESH = [
  LIST,
  'GET /api/conversations/counts',
  'GET /api/attention',
  THREAD,
  'GET /api/knowledge-base/auto-replies',
  'GET /api/opt-outs/suspected',
] as const;

/** The phone of a contact, in test mode: it gets what is sent, and somebody answers, reacts and reads with it. */
export default function Phone({ close }: { close: () => void }) {
  const { t } = useLingui();
  const { workspace } = useIdentity();
  const { address: opened } = useParams({ strict: false });
  const refetchInterval = useLiveInterval();
  const conversations = useRead(LIST, { query: { limit: 50 } }, { refetchInterval });
  const known = conversations.data?.conversations ?? [];
  const [chosen, choose] = useState<{ address: string; opened: string | undefined }>();
  // The contact whose conversation is open, unless somebody has taken another phone.
  const taken = chosen?.opened === opened ? chosen?.address : undefined;
  const contact = taken ?? opened ?? known[0]?.address ?? SOMEBODY;
  const contacts = [
    ...known.map(({ address, name }) => ({ address, name })),
    ...(known.some(({ address }) => address === contact) ? [] : [{ address: contact, name: contact }]),
    ...(contact === SOMEBODY || known.some(({ address }) => address === SOMEBODY)
      ? []
      : [{ address: SOMEBODY, name: t`Somebody new` }]),
  ];
  return (
    <aside
      aria-label={t`Phone of a contact`}
      className="flex w-80 max-w-full shrink-0 flex-col border-l border-line bg-canvas p-3 max-lg:fixed max-lg:inset-y-0 max-lg:right-0 max-lg:z-30 max-lg:shadow-raised"
    >
      <div className="flex min-h-0 flex-1 flex-col overflow-hidden rounded-3xl border-4 border-edge bg-surface">
        <div className="flex items-center gap-1 border-b border-line p-2">
          <select
            aria-label={t`Whose phone`}
            className="input-box h-8 min-w-0 flex-1 py-0"
            value={contact}
            onChange={(event) => choose({ address: event.target.value, opened })}
          >
            {contacts.map(({ address, name }) => (
              <option key={address} value={address}>
                {name === address ? addressName(address) : `${name} · ${addressName(address)}`}
              </option>
            ))}
          </select>
          <IconButton label={t`Put the phone away`} onClick={close}>
            <X className="size-4" aria-hidden="true" />
          </IconButton>
        </div>
        <Screen key={contact} contact={contact} workspaceName={workspace.name} />
      </div>
    </aside>
  );
}

/** What the contact sees: only what has arrived. */
function Screen({ contact, workspaceName }: { contact: string; workspaceName: string }) {
  const { t } = useLingui();
  const zone = useTimeZone();
  const conversations = useRead(LIST, { query: { limit: 50 } });
  const isKnown = conversations.data?.conversations.some(({ address }) => address === contact) ?? false;
  const thread = useRead(
    THREAD,
    { params: { address: contact }, query: { limit: 50 } },
    { enabled: isKnown, refetchInterval: useLiveInterval() },
  );
  const arrived = (thread.data?.messages ?? [])
    .filter(({ direction, status }) => direction === 'in' || ARRIVED.has(status ?? ''))
    .toReversed();
  const [text, setText] = useState('');
  const write = useWrite('POST /api/test/inbound', { refresh: REFRESH });
  const say = (said: string): void => {
    if (said.trim() === '' || write.isPending) return;
    write.mutate(
      { body: { from: contact, text: said } },
      { onSuccess: () => setText((now) => (now === said ? '' : now)), onError: toastError },
    );
  };
  const unread = arrived.filter(({ direction, readAt }) => direction === 'out' && readAt === null);
  const readAll = async (): Promise<void> => {
    try {
      for (const { messageId } of unread)
        await request('POST /api/test/receipts', { body: { messageId, status: 'read' } });
    } catch (error) {
      toastError(error);
    }
    await refreshReads(REFRESH);
  };
  const last = arrived.findLast(({ direction, message }) => direction === 'out' && message !== '');
  const end = useRef<HTMLDivElement>(null);
  const newest = arrived.at(-1)?.messageId;
  useEffect(() => {
    end.current?.scrollIntoView({ block: 'nearest' });
  }, [newest]);
  return (
    <>
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
        {arrived.map(({ messageId, direction, message, attachments, unsentAt, at, readAt }) => (
          <div
            key={messageId}
            className={classes(
              'flex max-w-[85%] flex-col',
              direction === 'in' ? 'items-end self-end' : 'self-start',
            )}
          >
            <p
              className={classes(
                'rounded-2xl px-3 py-1.5 break-words whitespace-pre-wrap',
                direction === 'in' ? 'rounded-br-md bg-bubble text-white' : 'rounded-bl-md bg-hover',
              )}
            >
              {unsentAt === null ? message || attachments.map(({ name }) => name).join(', ') : t`Taken back`}
            </p>
            <span className="px-1 text-xs text-muted">
              {shortTimeOf(at, zone)}
              {direction === 'out' && readAt !== null && (
                <>
                  {' '}
                  · <Trans>read</Trans>
                </>
              )}
            </span>
          </div>
        ))}
        <div ref={end} />
      </div>
      <div className="flex flex-col gap-2 border-t border-line p-2">
        <ul aria-label={t`Quick answers`} className="flex flex-wrap gap-1">
          {[t`Yes, please`, t`How much is it?`, t`Please take me off your list`, 'STOP'].map((answer) => (
            <li key={answer}>
              <button
                type="button"
                className="h-6 rounded-full border border-line px-2 text-xs text-muted hover:bg-hover hover:text-ink"
                onClick={() => say(answer)}
              >
                {answer}
              </button>
            </li>
          ))}
          {last && (
            <li>
              <button
                type="button"
                className="h-6 rounded-full border border-line px-2 text-xs text-muted hover:bg-hover hover:text-ink"
                // As phones report a reaction.
                onClick={() => say(`Loved “${last.message}”`)}
              >
                ❤️ <Trans>Love the last message</Trans>
              </button>
            </li>
          )}
        </ul>
        <form
          className="flex items-center gap-1"
          onSubmit={(event) => {
            event.preventDefault();
            say(text);
          }}
        >
          <input
            aria-label={t`Write as the contact`}
            placeholder={t`Write as the contact`}
            className="input-box h-9 min-w-0 flex-1"
            value={text}
            onChange={(event) => setText(event.target.value)}
          />
          <IconButton
            label={t`Send as the contact`}
            type="submit"
            disabled={text.trim() === '' || write.isPending}
          >
            <SendHorizontal className="size-4" aria-hidden="true" />
          </IconButton>
        </form>
        {unread.length > 0 && (
          <Button
            small
            icon={<CheckCheck className="size-3.5" aria-hidden="true" />}
            onClick={() => void readAll()}
          >
            <Trans>Read it all</Trans>
          </Button>
        )}
      </div>
    </>
  );
}

const ARRIVED: ReadonlySet<string> = new Set(['sent', 'delivered', 'fallback']);
