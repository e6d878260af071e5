import { i18n, type MessageDescriptor } from '@lingui/core';
import { msg, t } from '@lingui/core/macro';
import { Trans, useLingui } from '@lingui/react/macro';
import { Sparkles } from 'lucide-react';
import { useRef, useState } from 'react';
import { ApiFailure } from '#console/api/client.ts';
import { useWrite } from '#console/api/queries.ts';
import { Badge } from '#console/components/badge.tsx';
import { Button } from '#console/components/button.tsx';
import { toast, toastError } from '#console/components/toast.tsx';
import { percentOf, wordsOf } from '#console/lib/format.ts';
import type { Line } from '#console/lib/line.ts';
import { useShortcuts } from '#console/lib/shortcuts.ts';
import { type Draft, REFRESH } from './conversations.ts';
import { heldUntil, toastHeld } from './held-send.ts';

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

/** A draft: to be sent as it is, edited, or rejected. */
export function DraftCard({ draft, line }: { draft: Draft; line: Line | undefined }) {
  const { t } = useLingui();
  const { replyId, draftMessage, tags, sentiment } = draft;
  const [text, setText] = useState<string | null>(null);
  const editor = useRef<HTMLTextAreaElement>(null);
  const decide = useWrite('POST /api/knowledge-base/auto-replies', { refresh: REFRESH });

  // A second key may come before the card shows that a decision is under way.
  const isDeciding = useRef(false);
  const act = (action: Action): void => {
    if (isDeciding.current) return;
    isDeciding.current = true;
    const sent = action === 'approve' && {
      scheduledDate: heldUntil(),
      ...(text !== null && text.trim() !== draftMessage && { message: text }),
    };
    decide.mutate(
      { body: { replyId, action, ...sent } },
      {
        onSuccess: ({ messageId }) => {
          if (messageId !== undefined) toastHeld(messageId, line);
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
    if (isDeciding.current) return;
    setText((current) => current ?? draftMessage);
    requestAnimationFrame(() => editor.current?.focus());
  };
  useShortcuts({ a: () => act('approve'), e: edit, x: () => act('reject') });

  return (
    <section aria-label={t`Draft`} className="mb-3 rounded-xl border border-accent bg-accent-soft p-3">
      <div className="flex flex-wrap items-center gap-1.5">
        <h3 className="flex items-center gap-1.5 font-medium text-accent-ink">
          <Sparkles className="size-4" aria-hidden="true" /> <Trans>Draft</Trans>
        </h3>
        <span className="flex-1 text-xs text-muted">{originOf(draft)}</span>
        {[...tags, ...(sentiment === null ? [] : [sentiment])].map((tag) => (
          <Badge key={tag}>{tagName(tag)}</Badge>
        ))}
      </div>
      {text === null ? (
        <p className="my-2 break-words whitespace-pre-wrap">{draftMessage}</p>
      ) : (
        <textarea
          ref={editor}
          aria-label={t`Edit the draft`}
          className="input-box my-2 min-h-20"
          value={text}
          onChange={(event) => setText(event.target.value)}
          onKeyDown={(event) => {
            if (event.key === 'Enter' && (event.ctrlKey || event.metaKey)) act('approve');
            if (event.key === 'Escape') setText(null);
          }}
        />
      )}
      <div className="flex flex-wrap gap-2">
        <Button
          small
          kind="primary"
          title="a"
          busy={decide.isPending}
          disabled={text?.trim() === ''}
          onClick={() => act('approve')}
        >
          {text === null ? t`Approve and send` : t`Send edited`}
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
        <Button small title="x" onClick={() => act('reject')}>
          <Trans>Reject</Trans>
        </Button>
        <Button small kind="ghost" onClick={() => act('mark_sent')}>
          <Trans>Answered elsewhere</Trans>
        </Button>
      </div>
    </section>
  );
}
