import { t } from '@lingui/core/macro';
import { Trans } from '@lingui/react/macro';
import {
  createRootRoute,
  createRoute,
  createRouter,
  lazyRouteComponent,
  type RouteComponent,
} from '@tanstack/react-router';
import { PAGE_CATALOGS, type PageFolder } from './catalogs.ts';
import { EmptyState, ErrorState, SkeletonRows } from './components/states.tsx';
import { loadCatalogs } from './lib/locale.ts';
import { parseSearch, type Search, stringifySearch } from './lib/search.ts';
import { Shell } from './shell/shell.tsx';

const root = createRootRoute({ component: Shell });

/** A page, loaded with its texts when it is first visited. The file exports it as `default`. */
const page = <const P extends string>(
  path: P,
  folder: PageFolder,
  load: () => Promise<{ default: RouteComponent }>,
) =>
  createRoute({
    getParentRoute: () => root,
    path,
    validateSearch: (search: Search): Search => search,
    component: lazyRouteComponent(async () => {
      const [module] = await Promise.all([load(), loadCatalogs(PAGE_CATALOGS[folder])]);
      return module;
    }),
  });

/** All pages. Add a new page here and in `shell/navigation.ts`. */
const routeTree = root.addChildren([
  page('/', 'home', () => import('./pages/home/home.tsx')),
  page('/inbox/{-$address}', 'inbox', () => import('./pages/inbox/inbox.tsx')),
  page('/lines', 'lines', () => import('./pages/lines/lines.tsx')),
  page('/contacts', 'contacts', () => import('./pages/contacts/contacts.tsx')),
  page('/campaigns', 'campaigns', () => import('./pages/campaigns/campaigns.tsx')),
  page('/campaigns/$campaignId', 'campaigns', () => import('./pages/campaigns/campaign-page.tsx')),
  page('/segments', 'campaigns', () => import('./pages/campaigns/segments.tsx')),
  page('/messages', 'messages', () => import('./pages/messages/messages.tsx')),
  page('/webhooks', 'webhooks', () => import('./pages/webhooks/webhooks.tsx')),
  page('/requests', 'requests', () => import('./pages/requests/requests.tsx')),
  page('/analytics', 'analytics', () => import('./pages/analytics/analytics.tsx')),
  page('/compliance', 'compliance', () => import('./pages/compliance/compliance.tsx')),
  page('/settings', 'settings', () => import('./pages/settings/settings.tsx')),
  page('/operations', 'operations', () => import('./pages/operations/operations.tsx')),
  page('/agency', 'agency', () => import('./pages/agency/agency.tsx')),
]);

export const router = createRouter({
  routeTree,
  basepath: '/console',
  parseSearch,
  stringifySearch,
  defaultPreload: 'intent',
  defaultPendingComponent: () => <SkeletonRows />,
  defaultErrorComponent: ({ error, reset }) => <ErrorState error={error} retry={reset} />,
  defaultNotFoundComponent: () => (
    <EmptyState title={t`There is no such page`}>
      <Trans>The address may be mistyped, or the page has moved.</Trans>
    </EmptyState>
  ),
});

declare module '@tanstack/react-router' {
  interface Register {
    router: typeof router;
  }
}
