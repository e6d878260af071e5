import { i18n, type MessageDescriptor } from '@lingui/core';
import { msg, t } from '@lingui/core/macro';
import { Trans, useLingui } from '@lingui/react/macro';
import { Sparkles } from 'lucide-react';
import { useRef, useState } from 'react';
import { flushSync } from 'react-dom';
import { ApiFailure, request } from '#console/api/client.ts';
import { refreshReads, useWrite } from '#console/api/queries.ts';
import { Badge } from '#console/components/badge.tsx';
import { Button } from '#console/components/button.tsx';
import { toast, toastError } from '#console/components/toast.tsx';
import { WorkflowLink } from '#console/components/workflow-link.tsx';
import { percentOf, wordsOf } from '#console/lib/format.ts';
import type { Line } from '#console/lib/line.ts';
import { usePassFocus } from '#console/lib/pass-focus.ts';
import { useSeen, useShortcuts } from '#console/lib/shortcuts.ts';
import { useUnsent } from '#console/lib/unsent.ts';
import { type Draft, REFRESH } from './conversations.ts';
import { sendAfterUndo, toastWithUndo } from './send-with-undo.ts';

type Action = 'approve' | 'reject' | 'mark_sent';

const DONE: Record<Exclude<Action, 'approve'>, MessageDescriptor> = {
  reject: msg`The draft was rejected`,
  mark_sent: msg`Marked as answered`,
};

/** What the copilot says of a reply. */
const TAGS: Record<string, MessageDescriptor> = {
  interested: msg`Interested`,
  not_interested: msg`Not interested`,
  question: msg`Question`,
  objection: msg`Objection`,
  meeting_requested: msg`Meeting requested`,
  call_back: msg`Call back`,
  wrong_person: msg`Wrong person`,
  positive: msg`Positive`,
  neutral: msg`Neutral`,
  negative: msg`Negative`,
};

function tagName(tag: string): string {
  const known = TAGS[tag];
  return known ? i18n._(known) : wordsOf(tag);
}

/** For the copilot, how sure it is; else who wrote it. */
function originOf({ source, confidence }: Draft): string {
  const share = percentOf(confidence);
  if (source === 'copilot') return t`${share} confident`;
  return source === 'api' ? t`Written by a program` : t`Written by a colleague`;
}

/** Undoes a rejection. The API can only write the draft again, in the name of the user. */
async function writeAgain({ conversationRecipient: address, draftMessage: message }: Draft): Promise<void> {
  try {
    const to = address.includes('@') ? { email: address } : { phone: address };
    await request('POST /api/knowledge-base/drafts', { body: { ...to, message } });
  } catch (error) {
    toastError(error);
  }
  await refreshReads(REFRESH);
}

/** A draft: to be sent as it is, edited, or rejected. Its edit stays when the draft ends, and can be sent as a reply. */
export default function DraftCard({
  address,
  replyId,
  draft,
  text,
  setText,
  line,
}: {
  address: string;
  replyId: string;
  /** undefined: it has ended while it was edited. */
  draft: Draft | undefined;
  /** null: it is not edited. */
  text: string | null;
  setText: (text: string | null) => void;
  line: Line | undefined;
}) {
  const { t } = useLingui();
  const card = useRef<HTMLElement>(null);
  usePassFocus(card);
  /** The message that the reply is to answer on the phone. */
  const answers = useUnsent(`answered ${replyId}`);
  // It outlives the draft, as the edit does.
  const [answered] = useState(draft?.answeredReplyId ?? answers.text);
  const canAnswer =
    answered !== null &&
    line?.capabilities.includes('replies') === true &&
    line.requestedChannelType !== 'email';
  const reply = useWrite('POST /api/inbox/send-reply', { refresh: REFRESH });
  const answering = canAnswer && answers.text !== null && { replyToMessageId: answers.text };
  const sendAsReply = (): void => {
    if (text === null || text.trim() === '' || reply.isPending) return;
    const to = address.includes('@') ? { email: address } : { phone: address };
    reply.mutate(
      { body: { ...to, message: text, scheduledDate: sendAfterUndo(), ...answering } },
      {
        onSuccess: ({ _id }) => {
          setText(null);
          answers.change(null);
          toastWithUndo(_id, line);
        },
        onError: toastError,
      },
    );
  };
  const editor = useRef<HTMLTextAreaElement>(null);
  const decide = useWrite('POST /api/knowledge-base/auto-replies', { refresh: REFRESH });

  // A second key may come before the card shows that a decision is under way.
  const isDeciding = useRef(false);
  const act = (action: Action): void => {
    if (isDeciding.current || !draft) return;
    isDeciding.current = true;
    const sent = action === 'approve' && {
      scheduledDate: sendAfterUndo(),
      ...(text !== null && text.trim() !== draft.draftMessage && { message: text }),
      ...answering,
    };
    decide.mutate(
      { body: { replyId, action, ...sent } },
      {
        onSuccess: ({ messageId }) => {
          setText(null);
          answers.change(null);
          if (messageId !== undefined) toastWithUndo(messageId, line);
          else if (action === 'reject' && draft)
            toast(t(DONE.reject), { undo: () => void writeAgain(draft) });
          else if (action !== 'approve') toast(t(DONE[action]));
        },
        onError: (error) => {
          isDeciding.current = false;
          if (error instanceof ApiFailure && error.code === 'DRAFT_ALREADY_RESOLVED')
            toast(t`Somebody else has decided about this draft`);
          else toastError(error);
        },
      },
    );
  };
  const edit = (): void => {
    if (isDeciding.current || !draft) return;
    // At once, so that the next key is not taken for a shortcut, nor typed into a field that was left meanwhile.
    if (text === null) flushSync(() => setText(draft.draftMessage));
    editor.current?.focus();
  };
  const isSeen = useSeen();
  useShortcuts({ e: edit, ...(isSeen && { a: () => act('approve'), x: () => act('reject') }) });

  return (
    <section
      ref={card}
      aria-label={t`Draft`}
      className="mb-3 rounded-xl border border-accent bg-accent-soft p-3"
    >
      <div className="flex flex-wrap items-center gap-1.5">
        <h3 className="flex items-center gap-1.5 font-medium text-accent-ink">
          <Sparkles className="size-4" aria-hidden="true" /> <Trans>Draft</Trans>
        </h3>
        <span className="flex-1 text-xs text-muted">
          {draft ? (
            originOf(draft)
          ) : (
            <span role="status" className="text-warn">
              <Trans>The contact wrote again, or somebody has decided. Your text is kept.</Trans>
            </span>
          )}
        </span>
        {draft &&
          [...draft.tags, ...(draft.sentiment === null ? [] : [draft.sentiment])].map((tag) => (
            <Badge key={tag}>{tagName(tag)}</Badge>
          ))}
      </div>
      {text === null ? (
        <p className="my-2 break-words whitespace-pre-wrap">{draft?.draftMessage}</p>
      ) : (
        <textarea
          ref={editor}
          aria-label={t`Edit the draft`}
          className="input-box my-2 min-h-20"
          value={text}
          onChange={(event) => setText(event.target.value)}
          onKeyDown={(event) => {
            if (event.key === 'Enter' && (event.ctrlKey || event.metaKey)) {
              if (draft) act('approve');
              else sendAsReply();
            }
            if (event.key === 'Escape') event.currentTarget.blur();
          }}
        />
      )}
      {canAnswer && (
        <label className="mb-2 flex items-center gap-1.5 text-xs text-muted">
          <input
            type="checkbox"
            className="size-4 accent-accent"
            checked={answers.text !== null}
            onChange={(event) => answers.change(event.target.checked ? answered : null)}
          />
          <Trans>Show on the phone which message it answers</Trans>
        </label>
      )}
      <div className="flex flex-wrap gap-2">
        <Button
          small
          kind="primary"
          title={isSeen ? 'a' : undefined}
          busy={decide.isPending || reply.isPending}
          disabled={text?.trim() === ''}
          onClick={() => (draft ? act('approve') : sendAsReply())}
        >
          {!draft ? t`Send as a reply` : text === null ? t`Approve and send` : t`Send edited`}
        </Button>
        {text === null ? (
          <Button small title="e" onClick={edit}>
            <Trans>Edit</Trans>
          </Button>
        ) : (
          <Button small onClick={() => setText(null)}>
            <Trans>Discard changes</Trans>
          </Button>
        )}
        {draft && (
          <>
            <Button small title={isSeen ? 'x' : undefined} onClick={() => act('reject')}>
              <Trans>Reject</Trans>
            </Button>
            <Button small kind="ghost" onClick={() => act('mark_sent')}>
              <Trans>Answered elsewhere</Trans>
            </Button>
            <WorkflowLink id={`ai-draft:${draft.replyId}`} />
          </>
        )}
      </div>
    </section>
  );
}
