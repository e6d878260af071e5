import { msg, t } from '@lingui/core/macro';
import { Trans, useLingui } from '@lingui/react/macro';
import {
  Bell,
  BookOpen,
  ChevronsUpDown,
  FlaskConical,
  KeyRound,
  Languages,
  LogOut,
  Monitor,
  Moon,
  Sun,
  User,
} from 'lucide-react';
import { useIdentity } from '#console/api/workspace.ts';
import { Menu } from '#console/components/menu.tsx';
import { toast } from '#console/components/toast.tsx';
import { changeLocale, LOCALES, type Locale, locale } from '#console/lib/locale.ts';
import { setNotifies, useNotifies } from '#console/lib/desktop-notifications.ts';
import { signOut } from '#console/lib/sign-out.ts';
import { setTheme, useTheme } from '#console/lib/theme.ts';
import { useTestModeSwitch } from './test-mode.tsx';

const THEMES = [
  { theme: 'system', label: msg`As the system`, icon: Monitor },
  { theme: 'light', label: msg`Light`, icon: Sun },
  { theme: 'dark', label: msg`Dark`, icon: Moon },
] as const;

async function switchNotifications(on: boolean): Promise<void> {
  const problem = await setNotifies(on);
  if (problem !== null) return toast(t`No notifications`, { description: problem });
  toast(
    on ? t`This browser notifies you` : t`This browser no longer notifies you`,
    on ? { description: t`When contacts write in conversations that are yours or nobody’s.` } : {},
  );
}

/** Who is signed in, the theme, the language, and signing out. */
export function AccountMenu() {
  const { t } = useLingui();
  const { caller } = useIdentity();
  const current = useTheme();
  const modeSwitch = useTestModeSwitch();
  const isNotifying = useNotifies();
  const Icon = caller.type === 'key' ? KeyRound : User;
  return (
    <div className="border-t border-line p-2">
      <Menu
        side="top"
        trigger={
          <button
            type="button"
            className="flex h-9 w-full items-center gap-2.5 rounded-lg px-2.5 hover:bg-hover"
          >
            <Icon className="size-4 shrink-0 text-muted" aria-hidden="true" />
            <span className="sr-only">
              <Trans>Account:</Trans>
            </span>
            <span className="min-w-0 flex-1 truncate text-left">
              {caller.name ?? caller.id ?? t`Signed in`}
            </span>
            <ChevronsUpDown className="size-4 shrink-0 text-muted" aria-hidden="true" />
          </button>
        }
        groups={[
          {
            title: t`Theme`,
            items: THEMES.map(({ theme, label, icon: ThemeIcon }) => ({
              label: t(label),
              icon: <ThemeIcon className="size-4 text-muted" aria-hidden="true" />,
              checked: theme === current,
              onSelect: () => setTheme(theme),
            })),
          },
          {
            title: t`Language`,
            items: Object.entries(LOCALES).map(([name, label]) => ({
              label,
              icon: <Languages className="size-4 text-muted" aria-hidden="true" />,
              checked: name === locale,
              onSelect: () => changeLocale(name as Locale),
            })),
          },
          {
            items: [
              ...(modeSwitch
                ? [
                    {
                      label: modeSwitch.isTest ? t`Leave test mode` : t`Test mode`,
                      icon: <FlaskConical className="size-4 text-muted" aria-hidden="true" />,
                      onSelect: modeSwitch.change,
                    },
                  ]
                : []),
              {
                label: t`Desktop notifications`,
                icon: <Bell className="size-4 text-muted" aria-hidden="true" />,
                checked: isNotifying,
                onSelect: () => void switchNotifications(!isNotifying),
              },
              {
                label: t`API reference`,
                icon: <BookOpen className="size-4 text-muted" aria-hidden="true" />,
                onSelect: () => window.open('/docs', '_blank', 'noopener'),
              },
              {
                label: t`Sign out`,
                icon: <LogOut className="size-4 text-muted" aria-hidden="true" />,
                onSelect: () => void signOut(),
              },
            ],
          },
        ]}
      />
    </div>
  );
}
