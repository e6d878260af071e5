import { Sparkles } from 'lucide-react';
import { useRef, useState } from 'react';
import { ApiFailure, request } from '#console/api/client.ts';
import { queryClient, useWrite } from '#console/api/queries.ts';
import { Badge } from '#console/components/badge.tsx';
import { Button } from '#console/components/button.tsx';
import { toast, toastError } from '#console/components/toast.tsx';
import { percentOf, wordsOf } from '#console/lib/format.ts';
import { useShortcuts } from '#console/lib/shortcuts.ts';
import { type Draft, REFRESH } from './conversations.ts';

type Action = 'approve' | 'reject' | 'mark_sent';

const DONE: Record<Action, string> = {
  approve: 'The reply is on its way',
  reject: 'The draft was rejected',
  mark_sent: 'Marked as answered',
};

/** For the copilot, how sure it is; else who wrote it. */
function originOf({ source, confidence }: Draft): string {
  if (source === 'copilot') return `${percentOf(confidence)} confident`;
  return source === 'api' ? 'Written by a program' : 'Written by a colleague';
}

/** A draft: to be sent as it is, edited, or rejected. */
export function DraftCard({ draft }: { draft: Draft }) {
  const { replyId, draftMessage, tags, sentiment } = draft;
  const [text, setText] = useState<string | null>(null);
  const editor = useRef<HTMLTextAreaElement>(null);
  const decide = useWrite('POST /api/knowledge-base/auto-replies', { refresh: REFRESH });

  const act = (action: Action): void => {
    const edited =
      action === 'approve' && text !== null && text.trim() !== draftMessage ? { message: text } : {};
    decide.mutate(
      { body: { replyId, action, ...edited } },
      {
        onSuccess: ({ messageId }) =>
          toast(DONE[action], messageId === undefined ? {} : { undo: () => void takeBack(messageId) }),
        onError: (error) => {
          if (error instanceof ApiFailure && error.code === 'DRAFT_ALREADY_RESOLVED')
            toast('Somebody else has decided about this draft');
          else toastError(error);
        },
      },
    );
  };
  const edit = (): void => {
    setText(draftMessage);
    requestAnimationFrame(() => editor.current?.focus());
  };
  useShortcuts({ a: () => act('approve'), e: edit, x: () => act('reject') });

  return (
    <section aria-label="Draft" className="mb-3 rounded-xl border border-accent bg-accent-soft p-3">
      <div className="flex flex-wrap items-center gap-1.5">
        <h3 className="flex items-center gap-1.5 font-medium text-accent-ink">
          <Sparkles className="size-4" aria-hidden="true" /> Draft
        </h3>
        <span className="flex-1 text-xs text-muted">{originOf(draft)}</span>
        {[...tags, ...(sentiment === null ? [] : [sentiment])].map((tag) => (
          <Badge key={tag}>{wordsOf(tag)}</Badge>
        ))}
      </div>
      {text === null ? (
        <p className="my-2 break-words whitespace-pre-wrap">{draftMessage}</p>
      ) : (
        <textarea
          ref={editor}
          aria-label="Edit the draft"
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
          {text === null ? 'Approve and send' : 'Send edited'}
        </Button>
        {text === null ? (
          <Button small title="e" onClick={edit}>
            Edit
          </Button>
        ) : (
          <Button small onClick={() => setText(null)}>
            Discard changes
          </Button>
        )}
        <Button small title="x" onClick={() => act('reject')}>
          Reject
        </Button>
        <Button small kind="ghost" onClick={() => act('mark_sent')}>
          Answered elsewhere
        </Button>
      </div>
    </section>
  );
}

/** Cancels a message that was just written, unless it has left. */
export async function takeBack(messageId: string): Promise<void> {
  try {
    await request('POST /api/messages/{id}/cancel', { params: { id: messageId } });
    toast('The message was canceled');
  } catch (error) {
    toastError(error);
  }
  await Promise.all(REFRESH.map((endpoint) => queryClient.invalidateQueries({ queryKey: [endpoint] })));
}
