import { i18n, type MessageDescriptor } from '@lingui/core';
import { msg, t } from '@lingui/core/macro';
import { Plural, Trans, useLingui } from '@lingui/react/macro';
import { Check, CheckCheck, CircleAlert, Clock, type LucideIcon, Reply } from 'lucide-react';
import { lazy, Suspense, useState } from 'react';
import { useRead } from '#console/api/queries.ts';
import { useTimeZone } from '#console/api/workspace.ts';
import { classes } from '#console/components/class-names.ts';
import { Spinner } from '#console/components/spinner.tsx';
import { addressName, dayNameOf, fullTimeOf, timeOf } from '#console/lib/format.ts';
import { pagePart } from '#console/lib/page-part.ts';
import { signOf } from '#console/lib/reactions.ts';
import { reasonName } from '#console/lib/wait-names.ts';
import { Attachment } from './attachment.tsx';
import { MessageMenu } from './message-menu.tsx';
import { Quote } from './quote.tsx';
import type { Sending } from './sending.ts';
import { type Contact, REACTED, type ThreadItem } from './conversations.ts';

const EffectName = lazy(() => import('./effect-name.tsx'));
const Explanation = pagePart('inbox/explanation', () => import('./explanation.tsx'));

/** Why a message opts nobody out, stops no campaign and gets no draft. */
const WARNINGS: Record<NonNullable<ThreadItem['warning']>, MessageDescriptor> = {
  sender_not_verified: msg`This email may be forged: the mail server found that it is not from its sender.`,
  own_address: msg`This email says that it is from a line of yours.`,
  invalid_sender: msg`This message is from nobody who can write on this channel.`,
};

/** The element of a message. */
export const elementOf = (messageId: string): string => `message-${messageId}`;

/** A message, who reacted to it, and its delivery status. */
export function Bubble({
  item,
  contact,
  capabilities = [],
  takesKey = false,
  onReply,
  findItem,
  goTo,
}: {
  item: ThreadItem;
  contact: Contact;
  /** Of the line of the message. */
  capabilities?: readonly string[] | undefined;
  /** Whether the keys of reactions and replies are for this message. */
  takesKey?: boolean;
  /** Has the reply answer it. @returns its field. Absent: the line cannot show that. */
  onReply?: (() => HTMLElement | null) | undefined;
  /** A message of the conversation; undefined if it is not loaded. */
  findItem: (messageId: string) => ThreadItem | undefined;
  /** Shows a message of the conversation. */
  goTo: (messageId: string) => void;
}) {
  const { t } = useLingui();
  const { direction, subject, message, attachments, reactions, voiceNote, warning, authentication } = item;
  const isOurs = direction === 'out';
  const isUnsent = item.status === 'pending' || item.status === 'scheduled';
  const { replyToMessageId: answered, participant } = item;
  const menu = (
    <MessageMenu
      item={item}
      contact={contact}
      capabilities={capabilities}
      takesKey={takesKey}
      onReply={onReply}
    />
  );
  return (
    <div
      id={elementOf(item.messageId)}
      tabIndex={-1}
      className={classes(
        'group/item flex max-w-[80%] flex-col gap-1 rounded-2xl',
        isOurs ? 'items-end self-end' : 'self-start',
      )}
    >
      {participant !== null && (
        <p className="max-w-full truncate px-1 text-xs font-medium text-muted">{addressName(participant)}</p>
      )}
      {answered !== null && (
        <Quote item={findItem(answered)} contact={contact} isOurs={isOurs} show={() => goTo(answered)} />
      )}
      {attachments.map((file) => (
        <Attachment key={file.url} file={file} isVoiceNote={voiceNote} />
      ))}
      {message === '' && attachments.length > 0 && menu}
      {item.transcript !== null && (
        <p className="max-w-full px-1 text-sm break-words whitespace-pre-wrap text-muted">
          <span className="font-medium">
            <Trans>Transcript:</Trans>
          </span>{' '}
          {item.transcript}
        </p>
      )}
      {warning !== null && (
        <p
          className="flex max-w-sm gap-1.5 rounded-lg bg-warn-soft px-3 py-2 text-sm text-warn"
          title={authentication?.details}
        >
          <CircleAlert className="mt-0.5 size-4 shrink-0" aria-hidden="true" />
          {t(WARNINGS[warning])}
        </p>
      )}
      {subject !== null && subject !== message && (
        <p className="max-w-full truncate px-1 text-sm font-medium text-muted" title={subject}>
          {subject}
        </p>
      )}
      {message !== '' && (
        <div className={classes('flex max-w-full gap-1', isOurs && 'flex-row-reverse')}>
          <p
            className={classes(
              'min-w-0 rounded-2xl px-3.5 py-2 break-words whitespace-pre-wrap',
              !isOurs && 'rounded-bl-md border border-line bg-surface',
              isOurs && !isUnsent && 'rounded-br-md bg-bubble text-white',
              isOurs && isUnsent && 'rounded-br-md border border-dashed border-edge text-ink',
            )}
          >
            <WithLinks text={message} />
          </p>
          {menu}
        </div>
      )}
      {item.isShortened && item.unsentAt === null && <WholeText messageId={item.messageId} />}
      {item.unsentAt !== null && (
        <p className="rounded-2xl border border-dashed border-edge px-3.5 py-2 text-muted italic">
          {isOurs ? <Trans>Taken back</Trans> : <Trans>Removed by the contact</Trans>}
        </p>
      )}
      {reactions.length > 0 && item.unsentAt === null && (
        <ul aria-label={t`Reactions`} className="z-1 -mt-2 flex flex-wrap gap-1 px-2">
          {reactions.map((reaction) => (
            <Reaction
              key={`${reaction.from}${reaction.part ?? 0}${reaction.reaction}${reaction.emoji ?? ''}`}
              reaction={reaction}
              contact={contact}
            />
          ))}
        </ul>
      )}
      <Fate item={item} />
    </div>
  );
}

/** A reply that was just sent, until the thread shows its message. */
export const SendingBubble = ({ reply: { text, files } }: { reply: Sending }) => (
  <div className="flex max-w-[80%] flex-col items-end gap-1 self-end">
    {text.trim() !== '' && (
      <p className="max-w-full rounded-2xl rounded-br-md border border-dashed border-edge px-3.5 py-2 break-words whitespace-pre-wrap">
        {text}
      </p>
    )}
    {files > 0 && (
      <p className="text-xs text-muted">
        <Plural value={files} one="# attachment" other="# attachments" />
      </p>
    )}
    <p className="flex items-center gap-1.5 text-xs text-muted">
      <Clock className="size-3.5" aria-hidden="true" /> <Trans>Sending</Trans>
    </p>
  </div>
);

/** What ends a sentence is no part of its last address. */
const ADDRESSES = /(https?:\/\/[^\s<>"]+[^\s<>".,;:!?)'’])/i;

const WithLinks = ({ text }: { text: string }) =>
  text.split(ADDRESSES).map((part, index) =>
    index % 2 === 0 ? (
      part
    ) : (
      <a key={index} href={part} target="_blank" rel="noopener noreferrer nofollow" className="underline">
        {part}
      </a>
    ),
  );

/** The text as it was received, loaded on demand. */
function WholeText({ messageId }: { messageId: string }) {
  const [isOpen, setIsOpen] = useState(false);
  return (
    <div className="flex max-w-full flex-col items-start gap-1">
      <button
        type="button"
        aria-expanded={isOpen}
        onClick={() => setIsOpen(!isOpen)}
        className="rounded px-1 text-xs text-muted underline decoration-dotted underline-offset-2 hover:text-ink"
      >
        {isOpen ? <Trans>Hide quoted text</Trans> : <Trans>Show quoted text</Trans>}
      </button>
      {isOpen && <Received messageId={messageId} />}
    </div>
  );
}

function Received({ messageId }: { messageId: string }) {
  const reply = useRead('GET /api/replies/{id}', { params: { id: messageId } });
  if (reply.error && !reply.data) return <p className="text-sm text-bad">{reply.error.message}</p>;
  if (!reply.data) return <Spinner />;
  return (
    <p className="max-h-96 max-w-full overflow-y-auto rounded-lg border border-line bg-surface px-3 py-2 text-sm break-words whitespace-pre-wrap text-muted">
      {reply.data.reply.wholeMessage}
    </p>
  );
}

/** What somebody said with a sign, and who. */
function Reaction({ reaction, contact }: { reaction: ThreadItem['reactions'][number]; contact: Contact }) {
  const { t } = useLingui();
  const zone = useTimeZone();
  const { from, at } = reaction;
  const name = reaction.by === 'us' ? t`You` : addressName(from === contact.address ? contact.name : from);
  const text = t(REACTED[reaction.reaction]);
  return (
    <li
      title={`${name} ${text}, ${fullTimeOf(at, zone)}`}
      className="flex items-center gap-1 rounded-full border border-line bg-raised px-2 py-px text-xs text-muted shadow-card"
    >
      <span aria-hidden="true">{signOf(reaction)}</span>
      <span className="max-w-36 truncate">{name}</span>
      <span className="sr-only">{text}</span>
    </li>
  );
}

const FATES: Record<string, { icon: LucideIcon; text: MessageDescriptor; tone?: string }> = {
  pending: { icon: Clock, text: msg`Waiting` },
  scheduled: { icon: Clock, text: msg`Scheduled` },
  sent: { icon: Check, text: msg`Sent` },
  delivered: { icon: CheckCheck, text: msg`Delivered` },
  fallback: { icon: Reply, text: msg`Sent as SMS, or not reachable`, tone: 'text-warn' },
  failed: { icon: CircleAlert, text: msg`Failed`, tone: 'text-bad' },
  canceled: { icon: CircleAlert, text: msg`Canceled` },
};

/** What became of an outbound message: read is more than delivered. */
function fateOf({ status, deliveredAt, readAt, at }: ThreadItem, zone: string) {
  if (status === null) return undefined;
  const known = FATES[status];
  if (status === 'delivered' && readAt !== null) {
    const day = dayNameOf(readAt, zone);
    const time = timeOf(readAt, zone);
    return {
      icon: CheckCheck,
      text: day === dayNameOf(at, zone) ? t`Read ${time}` : t`Read ${day}, ${time}`,
      tone: 'text-accent-ink',
      title: fullTimeOf(readAt, zone),
    };
  }
  const title = status === 'delivered' && deliveredAt !== null ? fullTimeOf(deliveredAt, zone) : undefined;
  return known && { ...known, text: i18n._(known.text), title };
}

/** The time, the delivery status of outbound messages, and why a message waits or failed. */
function Fate({ item }: { item: ThreadItem }) {
  const zone = useTimeZone();
  const [why, setWhy] = useState(false);
  const { status, at, autoReply, editedAt, messageId, errorMessage, effect } = item;
  const fate = fateOf(item, zone);
  const explains =
    status === 'pending' || status === 'scheduled' || status === 'failed' || status === 'fallback';
  return (
    <div className="flex flex-col items-[inherit] gap-1 text-xs text-muted">
      <p className="flex items-center gap-1.5">
        <time dateTime={at} title={fullTimeOf(at, zone)}>
          {timeOf(at, zone)}
        </time>
        {autoReply && (
          <span>
            <Trans>Automatic reply</Trans>
          </span>
        )}
        {editedAt !== null && (
          <span title={fullTimeOf(editedAt, zone)}>
            <Trans>Edited</Trans>
          </span>
        )}
        {effect !== null && (
          <Suspense fallback={null}>
            <span>
              <EffectName effect={effect} />
            </span>
          </Suspense>
        )}
        {fate && (
          <span className={classes('flex items-center gap-1', fate.tone)} title={fate.title}>
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
            <Trans>Why?</Trans>
          </button>
        )}
      </p>
      {status === 'failed' && errorMessage !== null && !why && (
        <p className="max-w-sm text-bad">{reasonName(errorMessage)}</p>
      )}
      {why && (
        <Suspense fallback={<Spinner />}>
          <Explanation messageId={messageId} cancelable={status === 'pending' || status === 'scheduled'} />
        </Suspense>
      )}
    </div>
  );
}
