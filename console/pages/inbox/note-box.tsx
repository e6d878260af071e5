import { Trans, useLingui } from '@lingui/react/macro';
import { AtSign, StickyNote } from 'lucide-react';
import { useEffect, useRef } from 'react';
import { useWrite } from '#console/api/queries.ts';
import { Button } from '#console/components/button.tsx';
import { Menu } from '#console/components/menu.tsx';
import { toast, toastError } from '#console/components/toast.tsx';
import { useUnsent } from '#console/lib/unsent.ts';
import { reportPresence } from './presence.tsx';
import { useColleagues, useUserId } from './team.ts';

/** Writes a note. Members are mentioned by name here, and by id in the note. */
export function NoteBox({ address, close }: { address: string; close: () => void }) {
  const { t } = useLingui();
  const unsent = useUnsent(`note ${address}`);
  const text = unsent.text ?? '';
  const change = (next: string): void => unsent.change(next === '' ? null : next);
  const box = useRef<HTMLTextAreaElement>(null);
  const mention = useRef<HTMLButtonElement>(null);
  const colleagues = useColleagues();
  const userId = useUserId();
  const write = useWrite('POST /api/conversations/{address}/notes', {
    refresh: ['GET /api/conversations/{address}/notes'],
  });
  const submit = (): void => {
    if (text.trim() === '' || write.isPending) return;
    // Longer names first, as one may begin with another.
    const named = colleagues.toSorted((a, b) => b.name.length - a.name.length);
    const body = {
      text: named.reduce((said, { name, userId }) => said.replaceAll(`@${name}`, `@[${userId}]`), text),
    };
    write.mutate(
      { params: { address }, body },
      {
        onEnd: (isAccepted) => {
          // What was written meanwhile stays.
          if (isAccepted && unsent.current() === text) unsent.change(null);
        },
        onSuccess: () => toast(t`The note was added`),
        whileShown: () => {
          // So that everybody who views the conversation refetches its notes.
          if (userId !== null) void reportPresence(address, 'viewing');
          close();
        },
        onError: toastError,
      },
    );
  };
  // Somebody has just asked for it. Only once: later, the focus may be in the menu.
  useEffect(() => {
    box.current?.focus();
  }, []);
  const add = (name: string): void => change(`${(unsent.current() ?? '').replace(/@$/, '')}@${name} `);
  return (
    <form
      aria-label={t`Note`}
      className="rounded-xl bg-warn-soft p-3"
      onSubmit={(event) => {
        event.preventDefault();
        submit();
      }}
    >
      <textarea
        ref={box}
        aria-label={t`Note`}
        placeholder={t`A note for your team, which is not sent`}
        rows={2}
        maxLength={4000}
        className="input-box field-sizing-content max-h-48 min-h-14 resize-none"
        value={text}
        onChange={(event) => {
          const next = event.target.value;
          change(next);
          if (next.length > text.length && /(^|\s)@$/.test(next)) mention.current?.click();
        }}
        onKeyDown={(event) => {
          if (event.key === 'Enter' && (event.ctrlKey || event.metaKey)) submit();
          if (event.key === 'Escape') close();
        }}
      />
      <div className="mt-2 flex items-center gap-2">
        <Menu
          side="top"
          focusAfter={box}
          trigger={
            <Button small ref={mention} icon={<AtSign className="size-3.5" aria-hidden="true" />}>
              <Trans>Mention</Trans>
            </Button>
          }
          groups={[{ items: colleagues.map(({ name }) => ({ label: name, onSelect: () => add(name) })) }]}
        />
        <span className="flex-1" />
        <Button
          small
          kind="ghost"
          onClick={() => {
            unsent.change(null);
            close();
          }}
        >
          <Trans>Cancel</Trans>
        </Button>
        <Button
          small
          kind="primary"
          type="submit"
          busy={write.isPending}
          disabled={text.trim() === ''}
          icon={<StickyNote className="size-3.5" aria-hidden="true" />}
        >
          <Trans>Add the note</Trans>
        </Button>
      </div>
    </form>
  );
}
