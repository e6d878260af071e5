import { msg } from '@lingui/core/macro';
import { Trans, useLingui } from '@lingui/react/macro';
import { Building2 } from 'lucide-react';
import { lazy } from 'react';
import { useBilling, useIdentity } from '#console/api/workspace.ts';
import { Page } from '#console/components/page.tsx';
import { EmptyState } from '#console/components/states.tsx';
import { Tabs } from '#console/components/tabs.tsx';
import { pagePart } from '#console/lib/page-part.ts';
import { useTabParam } from '#console/lib/search.ts';
import { Clients } from './clients.tsx';

const AgencyLines = pagePart('agency/agency-lines', () => import('./agency-lines.tsx'));
const Billing = lazy(() => import('./billing.tsx'));
const AgencyWebhooks = lazy(() => import('./agency-webhooks.tsx'));
const AgencyEmails = lazy(() => import('./agency-emails.tsx'));
const Suppressions = lazy(() => import('./suppressions.tsx'));
const CoAdmins = lazy(() => import('./co-admins.tsx'));
const KeyList = lazy(() =>
  import('#console/pages/settings/keys.tsx').then((keys) => ({ default: keys.KeyList })),
);
const Log = lazy(() => import('#console/pages/settings/audit-log.tsx').then((log) => ({ default: log.Log })));

const TABS = [
  { value: 'clients', label: msg`Clients`, content: <Clients /> },
  { value: 'lines', label: msg`Lines`, content: <AgencyLines /> },
  { value: 'billing', label: msg`Billing`, content: <Billing /> },
  { value: 'webhooks', label: msg`Webhooks`, content: <AgencyWebhooks /> },
  { value: 'emails', label: msg`Emails`, content: <AgencyEmails /> },
  { value: 'suppressions', label: msg`Suppressions`, content: <Suppressions /> },
];
/** What the API shows to the owner alone. */
const OWNER_TABS = [
  { value: 'admins', label: msg`Co-admins`, content: <CoAdmins /> },
  { value: 'keys', label: msg`API keys`, content: <KeyList owner="agency" /> },
  { value: 'audit', label: msg`Audit log`, content: <Log endpoint="GET /api/agency/audit-log" /> },
];

/** The clients of an agency, their lines and plans, and who manages them. */
export default function Agency() {
  const { t } = useLingui();
  const { agency } = useIdentity();
  const [tab, show] = useTabParam();
  const billing = useBilling();
  const all = agency?.role === 'owner' ? [...TABS, ...OWNER_TABS] : TABS;
  const tabs = all.filter(({ value }) => billing.agency || value !== 'billing');
  return (
    <Page
      title={t`Agency`}
      description={billing.agency ? t`All clients, their lines and plans` : t`All clients and their lines`}
    >
      {agency ? (
        <Tabs
          label={t`Agency`}
          value={tabs.some(({ value }) => value === tab) ? tab : 'clients'}
          onChange={show}
          tabs={tabs.map((one) => ({ ...one, label: t(one.label) }))}
        />
      ) : (
        <EmptyState
          icon={<Building2 className="size-5" aria-hidden="true" />}
          title={t`This needs a signed-in user of an agency`}
        >
          <Trans>It shows the clients of an agency to its owner and co-admins.</Trans>
        </EmptyState>
      )}
    </Page>
  );
}
