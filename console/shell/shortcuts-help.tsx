import { useState } from 'react';
import { Dialog } from '#console/components/dialog.tsx';
import { enableShortcuts, shortcutsEnabled } from '#console/lib/shortcuts.ts';
import { type NavigationItem, useNavigation } from './navigation.ts';

const EVERYWHERE = 'Everywhere';
const pageKeys = ({ key, title }: NavigationItem) => [`g ${key}`, title] as const;

const GROUPS: readonly { title: string; keys: readonly (readonly [keys: string, text: string])[] }[] = [
  {
    title: EVERYWHERE,
    keys: [
      ['Ctrl K', 'Search'],
      ['?', 'These shortcuts'],
    ],
  },
  {
    title: 'In lists',
    keys: [
      ['/', 'Search'],
      ['j, k', 'Next, previous'],
      ['Enter', 'Open'],
      ['Escape', 'Close'],
    ],
  },
  {
    title: 'In a conversation',
    keys: [
      ['r', 'Write a reply'],
      ['Ctrl Enter', 'Send'],
      ['a', 'Approve the draft'],
      ['e', 'Edit the draft'],
      ['x', 'Reject the draft'],
      ['o', 'Confirm a suspected opt-out'],
      ['d', 'Dismiss a suspected opt-out'],
      ['n', 'Write a note'],
      ['p', 'Insert a snippet'],
      ['i', 'Assign'],
      ['s', 'Snooze'],
      ['c', 'Close or open again'],
      ['v', 'Select it, to act on several'],
    ],
  },
];

export default function ShortcutsHelp({ close }: { close: () => void }) {
  const pages = useNavigation().flat();
  const [enabled, setEnabled] = useState(shortcutsEnabled());
  return (
    <Dialog open onClose={close} title="Keyboard shortcuts">
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
        Single keys act, unless a field has the focus
      </label>
      {GROUPS.map(({ title, keys }) => (
        <section key={title} className="mb-4">
          <h3 className="mb-1.5 font-medium">{title}</h3>
          <dl>
            {[...keys, ...(title === EVERYWHERE ? pages.map(pageKeys) : [])].map(([name, text]) => (
              <div key={name} className="flex justify-between border-b border-line py-1.5">
                <dt className="text-muted">{text}</dt>
                <dd>
                  <kbd className="rounded border border-line px-1.5 py-0.5 font-sans text-xs">{name}</kbd>
                </dd>
              </div>
            ))}
          </dl>
        </section>
      ))}
    </Dialog>
  );
}
