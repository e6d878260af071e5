import { Trans, useLingui } from '@lingui/react/macro';
import { Link, Outlet, useNavigate } from '@tanstack/react-router';
import { ArrowLeft, Menu as MenuIcon, Search as SearchIcon, X } from 'lucide-react';
import { Activity, lazy, Suspense, useEffect, useLayoutEffect, useRef, useState } from 'react';
import { useLiveEvents } from '#console/api/live.ts';
import { useRead } from '#console/api/queries.ts';
import { endedSession, pageNumber, useSession } from '#console/api/session.ts';
import { useIdentity } from '#console/api/workspace.ts';
import { IconButton } from '#console/components/button.tsx';
import { classes } from '#console/components/class-names.ts';
import { ErrorState, SkeletonRows } from '#console/components/states.tsx';
import { Toaster, undoLast } from '#console/components/toast.tsx';
import { useUnread } from '#console/api/unread.ts';
import { numberOf, timeOf } from '#console/lib/format.ts';
import { holdKeys } from '#console/lib/held-keys.ts';
import { useShortcuts } from '#console/lib/shortcuts.ts';
import { AccountMenu } from './account-menu.tsx';
import { useDesktopNotifications } from './notifications.ts';
import { NAVIGATION, useNavigation } from './navigation.ts';
import { ConnectionBanner, StoppedBanner } from './stopped-banner.tsx';
import { TestModeBanner } from './test-mode.tsx';
import { WorkspaceMenu } from './workspace-menu.tsx';

const SignIn = lazy(() => import('#console/pages/sign-in.tsx'));
const loadPalette = () => import('./command-palette.tsx');
const CommandPalette = lazy(loadPalette);
const Phone = lazy(() => import('./phone.tsx'));
const ShortcutsHelp = lazy(() => import('./shortcuts-help.tsx'));

/** The frame of every page; without a session, the sign-in page. Behind it, the page of a session that ended by itself stays. */
export function Shell() {
  const session = useSession();
  const hasEnded = session === null && endedSession() !== null;
  return (
    <>
      {(session !== null || hasEnded) && (
        <Activity key={pageNumber()} mode={hasEnded ? 'hidden' : 'visible'}>
          <KeepFocus />
          <Suspense fallback={null}>
            <SignedIn />
          </Suspense>
        </Activity>
      )}
      {session === null && (
        <Suspense fallback={null}>
          <SignIn />
        </Suspense>
      )}
      <Toaster />
    </>
  );
}

/** Gives the focus back to what had it when the page was hidden, so that keys go where they went. */
function KeepFocus() {
  const focused = useRef<Element | null>(null);
  useLayoutEffect(() => {
    if (focused.current instanceof HTMLElement && focused.current.isConnected) focused.current.focus();
    return () => {
      focused.current = document.activeElement;
    };
  }, []);
  return null;
}

function SignedIn() {
  const { t } = useLingui();
  const identity = useRead('GET /api/workspace', {});
  const [palette, setPalette] = useState(false);
  const [menu, setMenu] = useState(false);
  const [help, setHelp] = useState(false);
  const [phone, showPhone] = useState(false);
  const openPalette = (): void => {
    if (!palette) holdKeys();
    setPalette(true);
  };
  useNavigationKeys(openPalette, () => setHelp(true));
  // Loaded before it is needed, so that the first keys reach it.
  useEffect(() => void loadPalette(), []);
  if (identity.error && !identity.data)
    return <ErrorState error={identity.error} retry={() => void identity.refetch()} />;
  if (!identity.data) return <SkeletonRows />;
  return (
    <div className="flex h-full">
      <LiveEvents />
      <a
        href="#content"
        className="sr-only focus:not-sr-only focus:fixed focus:top-2 focus:left-2 focus:z-50 focus:rounded-lg focus:bg-raised focus:px-3 focus:py-2"
      >
        <Trans>Skip to the content</Trans>
      </a>
      <Sidebar open={menu} close={() => setMenu(false)} search={openPalette} />
      <div className="flex min-w-0 flex-1 flex-col">
        <header className="flex shrink-0 items-center gap-1 border-b border-line bg-surface px-2 py-1.5 md:hidden">
          <IconButton label={t`Open the menu`} aria-expanded={menu} onClick={() => setMenu(true)}>
            <MenuIcon className="size-5" aria-hidden="true" />
          </IconButton>
          <span className="min-w-0 flex-1 truncate font-medium">{identity.data.workspace.name}</span>
          <IconButton label={t`Search`} onClick={openPalette}>
            <SearchIcon className="size-5" aria-hidden="true" />
          </IconButton>
        </header>
        {/* Below it, because notifications come between its buttons. */}
        <TestModeBanner hasPhone={phone} setPhone={showPhone} />
        <StoppedBanner />
        <ConnectionBanner />
        <main id="content" tabIndex={-1} className="min-h-0 flex-1 outline-none">
          <Suspense fallback={<SkeletonRows />}>
            <Outlet />
          </Suspense>
        </main>
      </div>
      {phone && identity.data.workspace.mode === 'test' && (
        <Suspense fallback={null}>
          <Phone close={() => showPhone(false)} />
        </Suspense>
      )}
      <Suspense fallback={null}>
        {palette && <CommandPalette close={() => setPalette(false)} openHelp={() => setHelp(true)} />}
        {help && <ShortcutsHelp close={() => setHelp(false)} />}
      </Suspense>
    </div>
  );
}

/** Renders nothing: it exists because the identity is only known inside the session. */
function LiveEvents() {
  useLiveEvents();
  useDesktopNotifications();
  return null;
}

/** `g` and a letter for each page, Ctrl-K or `/` for the palette, `?` for all of them. */
function useNavigationKeys(openPalette: () => void, openHelp: () => void): void {
  const navigate = useNavigate();
  const pages = NAVIGATION.flat().map(({ key, to }) => [`g ${key}`, () => void navigate({ to })] as const);
  useShortcuts({
    'mod+k': openPalette,
    '/': openPalette,
    '?': openHelp,
    z: undoLast,
    ...Object.fromEntries(pages),
  });
}

function Sidebar({ open, close, search }: { open: boolean; close: () => void; search: () => void }) {
  const { t } = useLingui();
  const groups = useNavigation();
  const unread = useUnread();
  useEffect(() => {
    if (!open) return;
    const listen = (event: KeyboardEvent): void => {
      if (event.key === 'Escape') close();
    };
    window.addEventListener('keydown', listen);
    return () => window.removeEventListener('keydown', listen);
  }, [open, close]);
  return (
    <>
      {open && (
        <div className="fixed inset-0 z-20 bg-black/30 md:hidden" onClick={close} aria-hidden="true" />
      )}
      <nav
        aria-label={t`Pages`}
        className={classes(
          'fixed inset-y-0 left-0 z-30 flex w-60 flex-col border-r border-line bg-canvas md:static md:flex',
          !open && 'hidden',
        )}
      >
        <div className="flex items-center gap-1 p-2">
          <WorkspaceMenu />
          <IconButton label={t`Close the menu`} className="md:hidden" onClick={close}>
            <X className="size-5" aria-hidden="true" />
          </IconButton>
        </div>
        <BackToAgency close={close} />
        <button
          type="button"
          onClick={search}
          className="mx-3 mb-2 flex h-8 items-center gap-2 rounded-lg border border-line bg-surface px-2.5 text-muted hover:bg-hover"
        >
          <SearchIcon className="size-4" aria-hidden="true" />
          <span className="flex-1 text-left">
            <Trans>Search</Trans>
          </span>
          <kbd className="font-sans text-xs">Ctrl K</kbd>
        </button>
        <div className="flex min-h-0 flex-1 flex-col gap-4 scroll-y px-3 py-1">
          {groups.map((group) => (
            <ul key={group[0]?.to} className="flex flex-col gap-0.5">
              {group.map(({ to, title, icon: Icon }) => (
                <li key={to}>
                  <Link
                    to={to}
                    onClick={close}
                    activeOptions={{ exact: to === '/', includeSearch: false }}
                    activeProps={{ 'aria-current': 'page' }}
                    className="flex h-8 items-center gap-2.5 rounded-lg px-2.5 font-medium text-muted hover:bg-hover hover:text-ink aria-[current=page]:bg-selected aria-[current=page]:text-ink"
                  >
                    <Icon className="size-4" aria-hidden="true" />
                    <span className="flex-1">{title}</span>
                    {to === '/inbox' && unread > 0 && (
                      <span className="rounded-full bg-accent-soft px-1.5 text-xs text-accent-ink tabular-nums">
                        {numberOf(unread)}
                        <span className="sr-only">
                          {' '}
                          <Trans>unread</Trans>
                        </span>
                      </span>
                    )}
                  </Link>
                </li>
              ))}
            </ul>
          ))}
        </div>
        <WhoseTimes />
        <AccountMenu />
      </nav>
    </>
  );
}

/** For who has come from their agency into the workspace of a client. */
function BackToAgency({ close }: { close: () => void }) {
  const { agency, workspace } = useIdentity();
  const first = useSession()?.first;
  if (!agency || !first || [workspace._id, workspace.liveWorkspaceId].includes(first._id)) return null;
  return (
    <Link
      to="/agency"
      onClick={close}
      className="mx-3 -mt-1 mb-1 flex items-center gap-1.5 rounded-lg px-2.5 py-1 text-accent-ink hover:bg-hover"
    >
      <ArrowLeft className="size-4" aria-hidden="true" /> <Trans>Back to the agency</Trans>
    </Link>
  );
}

const OWN_ZONE = new Intl.DateTimeFormat().resolvedOptions().timeZone;

/** Times are those of the workspace, which somebody elsewhere would take for theirs. */
function WhoseTimes() {
  const { timezone } = useIdentity().workspace;
  const now = new Date();
  if (timeOf(now, timezone) === timeOf(now, OWN_ZONE)) return null;
  return (
    <p className="truncate px-5 py-1.5 text-xs text-muted" title={timezone}>
      <Trans>Times of {timezone}</Trans>
    </p>
  );
}
