import type { MessageDescriptor } from '@lingui/core';
import { msg } from '@lingui/core/macro';
import { Trans, useLingui } from '@lingui/react/macro';
import { useState } from 'react';
import { Dialog } from '#console/components/dialog.tsx';
import { opensNext, setOpensNext } from '#console/lib/opens-next.ts';
import { enableShortcuts, shortcutsEnabled } from '#console/lib/shortcuts.ts';
import { useNavigation } from './navigation.ts';

type Shortcut = readonly [keys: string, text: MessageDescriptor];

const EVERYWHERE: readonly Shortcut[] = [
  ['Ctrl K', msg`Search`],
  ['z', msg`Undo`],
  ['?', msg`These shortcuts`],
];

const ELSEWHERE: readonly { title: MessageDescriptor; shortcuts: readonly Shortcut[] }[] = [
  {
    title: msg`In lists`,
    shortcuts: [
      ['/', msg`Search`],
      ['j, k', msg`Next, previous`],
      ['Enter', msg`Open`],
      ['Space', msg`Select a contact, to act on several`],
      ['Escape', msg`Close`],
    ],
  },
  {
    title: msg`In a conversation`,
    shortcuts: [
      ['r', msg`Write a reply`],
      ['Ctrl Enter', msg`Send`],
      ['a', msg`Approve the draft`],
      ['e', msg`Edit the draft`],
      ['x', msg`Reject the draft`],
      ['o', msg`Confirm a suspected opt-out`],
      ['d', msg`Dismiss a suspected opt-out`],
      ['t', msg`React to what the contact said`],
      ['q', msg`Reply to what the contact said`],
      ['n', msg`Write a note`],
      ['p', msg`Insert a snippet`],
      ['/', msg`Insert a snippet, at the start of a word of a reply`],
      ['i', msg`Assign`],
      ['m', msg`Assign to me`],
      ['u', msg`Mark as unread`],
      ['s', msg`Snooze`],
      ['c', msg`Close or open again`],
      ['v', msg`Select it, to act on several`],
    ],
  },
];

export default function ShortcutsHelp({ close }: { close: () => void }) {
  const { t } = useLingui();
  const pages = useNavigation().flat();
  const [advances, setAdvances] = useState(opensNext());
  const [enabled, setEnabled] = useState(shortcutsEnabled());
  return (
    <Dialog open onClose={close} title={t`Keyboard shortcuts`}>
      <label className="mb-4 flex items-center gap-2">
        <input
          type="checkbox"
          className="size-4 accent-accent"
          checked={enabled}
          onChange={(event) => {
            enableShortcuts(event.target.checked);
            setEnabled(event.target.checked);
          }}
        />
        <Trans>Single keys act, unless a field has the focus</Trans>
      </label>
      <label className="mb-4 flex items-center gap-2">
        <input
          type="checkbox"
          className="size-4 accent-accent"
          checked={advances}
          onChange={(event) => {
            setOpensNext(event.target.checked);
            setAdvances(event.target.checked);
          }}
        />
        <Trans>The next conversation opens when one is closed or snoozed</Trans>
      </label>
      <Group
        title={t`Everywhere`}
        shortcuts={[
          ...EVERYWHERE.map(([keys, text]) => [keys, t(text)] as const),
          ...pages.map(({ key, title }) => [`g ${key}`, title] as const),
        ]}
      />
      {ELSEWHERE.map(({ title, shortcuts }) => (
        <Group
          key={title.id}
          title={t(title)}
          shortcuts={shortcuts.map(([keys, text]) => [keys, t(text)] as const)}
        />
      ))}
    </Dialog>
  );
}

function Group({ title, shortcuts }: { title: string; shortcuts: readonly (readonly [string, string])[] }) {
  return (
    <section className="mb-4">
      <h3 className="mb-1.5 font-medium">{title}</h3>
      <dl>
        {shortcuts.map(([keys, text]) => (
          <div key={keys} className="flex justify-between border-b border-line py-1.5">
            <dt className="text-muted">{text}</dt>
            <dd>
              <kbd className="rounded border border-line px-1.5 py-0.5 font-sans text-xs">{keys}</kbd>
            </dd>
          </div>
        ))}
      </dl>
    </section>
  );
}
