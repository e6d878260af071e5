import { Trans, useLingui } from '@lingui/react/macro';
import { Dialog } from '@base-ui/react/dialog';
import { useNavigate } from '@tanstack/react-router';
import {
  Building2,
  Keyboard,
  LogOut,
  type LucideIcon,
  Megaphone,
  Moon,
  Settings,
  Sun,
  UserPlus,
} from 'lucide-react';
import { type KeyboardEvent, useId, useState } from 'react';
import { useIdentity } from '#console/api/workspace.ts';
import { Spinner } from '#console/components/spinner.tsx';
import { takeHeldKeys } from '#console/lib/held-keys.ts';
import { matchesWords } from '#console/lib/search-form.ts';
import { setTheme } from '#console/lib/theme.ts';
import { signOut } from '#console/lib/sign-out.ts';
import { AGENCY_TABS, SETTINGS, type Tab, useNavigation } from './navigation.ts';
import { type Command, useFound } from './found.ts';
import { usePauses } from './pauses.ts';

/** Finds pages, settings and actions by parts of their names, and through the API what the workspace contains. */
export default function CommandPalette({ close, openHelp }: { close: () => void; openHelp: () => void }) {
  const { t } = useLingui();
  const navigate = useNavigate();
  const navigation = useNavigation();
  const listId = useId();
  const [text, setText] = useState('');
  const [position, setPosition] = useState(0);
  const { found: things, isSearching, hasFailed } = useFound(text);
  const pauses = usePauses(text);
  const { agency } = useIdentity();
  const tabsOf = (to: string, tabs: readonly Tab[], icon: LucideIcon, detail: string) =>
    tabs.map(({ value, title, words }) => ({
      id: `${to} ${value}`,
      title: t(title),
      words: words && t(words),
      icon,
      detail,
      run: () => void navigate({ to, search: { tab: value } } as never),
    }));
  const commands: (Command & { words?: string | undefined })[] = [
    ...navigation.flat().map(({ to, title, icon, key }) => ({
      id: to,
      title,
      icon,
      keys: `g ${key}`,
      run: () => void navigate({ to }),
    })),
    ...tabsOf('/settings', SETTINGS, Settings, t`Settings`),
    ...(agency ? tabsOf('/agency', AGENCY_TABS, Building2, t`Agency`) : []),
    {
      id: 'new-campaign',
      title: t`New campaign`,
      icon: Megaphone,
      run: () => void navigate({ to: '/campaigns/$campaignId', params: { campaignId: 'new' } }),
    },
    {
      id: 'invite',
      title: t`Invite somebody to the team`,
      icon: UserPlus,
      run: () => void navigate({ to: '/settings', search: { tab: 'team' } } as never),
    },
    ...pauses,
    { id: 'light', title: t`Light theme`, icon: Sun, run: () => setTheme('light') },
    { id: 'dark', title: t`Dark theme`, icon: Moon, run: () => setTheme('dark') },
    { id: 'help', title: t`Keyboard shortcuts`, icon: Keyboard, keys: '?', run: openHelp },
    { id: 'out', title: t`Sign out`, icon: LogOut, run: () => void signOut() },
  ];
  const isTab = ({ id }: Command): boolean => /^\/(settings|agency) /.test(id);
  const found = [
    // Tabs have many common words, which would be in the way of who has typed nothing.
    ...commands.filter(
      (command) =>
        matchesWords(`${command.title} ${command.words ?? ''}`, text) && (text !== '' || !isTab(command)),
    ),
    ...things,
  ];
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
            aria-label={t`Search for people, campaigns, lines, pages and actions`}
            placeholder={t`Search for people, campaigns, lines, pages and actions`}
            className="w-full border-b border-line bg-transparent px-4 py-3.5 text-base outline-none"
            value={text}
            onFocus={() => {
              const typed = takeHeldKeys();
              setText((now) => now + typed);
            }}
            onKeyDown={listen}
            onChange={(event) => {
              setText(event.target.value);
              setPosition(0);
            }}
          />
          <div id={listId} role="listbox" aria-label={t`Results`} className="max-h-80 scroll-y p-1.5">
            {found.map((command, index) => (
              <div
                key={command.id}
                id={`${listId}-${index}`}
                role="option"
                aria-selected={index === chosen}
                tabIndex={-1}
                onMouseMove={() => setPosition(index)}
                onClick={() => run(command)}
                onKeyDown={listen}
                className="flex cursor-pointer items-center gap-3 rounded-lg px-3 py-2 aria-selected:bg-hover"
              >
                <command.icon className="size-4 shrink-0 text-muted" aria-hidden="true" />
                <span className="min-w-0 flex-1 truncate">{command.title}</span>
                {command.detail && (
                  <span className="max-w-1/2 shrink-0 truncate text-xs text-muted">{command.detail}</span>
                )}
                {command.keys && <kbd className="font-sans text-xs text-muted">{command.keys}</kbd>}
              </div>
            ))}
          </div>
          <div role="status" className="px-4 text-center text-muted">
            {isSearching ? (
              <p className="flex items-center justify-center gap-2 py-3">
                <Spinner />
                <Trans>Searching…</Trans>
              </p>
            ) : hasFailed ? (
              <p className="py-3">
                <Trans>Not everything could be searched.</Trans>
              </p>
            ) : (
              found.length === 0 && (
                <p className="pt-2 pb-6">
                  <Trans>Nothing matches “{text}”.</Trans>
                </p>
              )
            )}
          </div>
        </Dialog.Popup>
      </Dialog.Portal>
    </Dialog.Root>
  );
}
