import { Trans, useLingui } from '@lingui/react/macro';
import { Dialog } from '@base-ui/react/dialog';
import { useNavigate } from '@tanstack/react-router';
import { Keyboard, LogOut, type LucideIcon, Moon, Sun } from 'lucide-react';
import { type KeyboardEvent, useId, useState } from 'react';
import { matchesWords } from '#console/lib/search-form.ts';
import { setTheme } from '#console/lib/theme.ts';
import { signOut } from '#console/lib/sign-out.ts';
import { useNavigation } from './navigation.ts';

interface Command {
  title: string;
  icon: LucideIcon;
  /** Its keyboard shortcut. */
  keys?: string;
  run: () => void;
}

/** Finds pages and actions by parts of their names. */
export default function CommandPalette({ close, openHelp }: { close: () => void; openHelp: () => void }) {
  const { t } = useLingui();
  const navigate = useNavigate();
  const navigation = useNavigation();
  const listId = useId();
  const [text, setText] = useState('');
  const [position, setPosition] = useState(0);
  const commands: Command[] = [
    ...navigation.flat().map(({ to, title, icon, key }) => ({
      title,
      icon,
      keys: `g ${key}`,
      run: () => void navigate({ to }),
    })),
    { title: t`Light theme`, icon: Sun, run: () => setTheme('light') },
    { title: t`Dark theme`, icon: Moon, run: () => setTheme('dark') },
    { title: t`Keyboard shortcuts`, icon: Keyboard, keys: '?', run: openHelp },
    { title: t`Sign out`, icon: LogOut, run: () => void signOut() },
  ];
  const found = commands.filter(({ title }) => matchesWords(title, text));
  const chosen = Math.min(position, found.length - 1);

  const run = (command: Command | undefined): void => {
    if (!command) return;
    close();
    command.run();
  };
  const listen = (event: KeyboardEvent): void => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step !== undefined) setPosition((chosen + step + found.length) % Math.max(1, found.length));
    else if (event.key === 'Enter') run(found[chosen]);
    else return;
    event.preventDefault();
  };

  return (
    <Dialog.Root open onOpenChange={(open) => !open && close()}>
      <Dialog.Portal>
        <Dialog.Backdrop className="fixed inset-0 z-40 bg-black/30" />
        <Dialog.Popup className="fixed inset-x-4 top-[14vh] z-50 mx-auto max-w-xl overflow-hidden rounded-xl border border-line bg-raised shadow-raised">
          <Dialog.Title className="sr-only">
            <Trans>Search</Trans>
          </Dialog.Title>
          <input
            role="combobox"
            aria-expanded="true"
            aria-controls={listId}
            aria-activedescendant={found[chosen] && `${listId}-${chosen}`}
            aria-label={t`Search for a page or an action`}
            placeholder={t`Search for a page or an action`}
            className="w-full border-b border-line bg-transparent px-4 py-3.5 text-base outline-none"
            value={text}
            onKeyDown={listen}
            onChange={(event) => {
              setText(event.target.value);
              setPosition(0);
            }}
          />
          <div id={listId} role="listbox" aria-label={t`Results`} className="max-h-80 scroll-y p-1.5">
            {found.map((command, index) => (
              <div
                key={command.title}
                id={`${listId}-${index}`}
                role="option"
                aria-selected={index === chosen}
                tabIndex={-1}
                onMouseMove={() => setPosition(index)}
                onClick={() => run(command)}
                onKeyDown={listen}
                className="flex cursor-pointer items-center gap-3 rounded-lg px-3 py-2 aria-selected:bg-hover"
              >
                <command.icon className="size-4 text-muted" aria-hidden="true" />
                <span className="flex-1">{command.title}</span>
                {command.keys && <kbd className="font-sans text-xs text-muted">{command.keys}</kbd>}
              </div>
            ))}
          </div>
          {found.length === 0 && (
            <p className="px-4 pb-6 text-center text-muted">
              <Trans>Nothing matches “{text}”.</Trans>
            </p>
          )}
        </Dialog.Popup>
      </Dialog.Portal>
    </Dialog.Root>
  );
}
