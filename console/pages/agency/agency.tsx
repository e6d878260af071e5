import { Building2 } from 'lucide-react';
import { useIdentity } from '#console/api/workspace.ts';
import { Page } from '#console/components/page.tsx';
import { EmptyState } from '#console/components/states.tsx';
import { Tabs } from '#console/components/tabs.tsx';
import { useTabParam } from '#console/lib/search.ts';
import { Log } from '#console/pages/settings/audit-log.tsx';
import { KeyList } from '#console/pages/settings/keys.tsx';
import { AgencyEmails } from './agency-emails.tsx';
import { AgencyLines } from './agency-lines.tsx';
import { AgencyWebhooks } from './agency-webhooks.tsx';
import { Billing } from './billing.tsx';
import { Clients } from './clients.tsx';
import { CoAdmins } from './co-admins.tsx';

const TABS = [
  { value: 'clients', label: 'Clients', content: <Clients /> },
  { value: 'lines', label: 'Lines', content: <AgencyLines /> },
  { value: 'billing', label: 'Billing', content: <Billing /> },
  { value: 'webhooks', label: 'Webhooks', content: <AgencyWebhooks /> },
  { value: 'emails', label: 'Emails', content: <AgencyEmails /> },
];
/** What the API shows to the owner alone. */
const OWNER_TABS = [
  { value: 'admins', label: 'Co-admins', content: <CoAdmins /> },
  { value: 'keys', label: 'API keys', content: <KeyList owner="agency" /> },
  { value: 'audit', label: 'Audit log', content: <Log endpoint="GET /api/agency/audit-log" /> },
];

/** The clients of an agency, their lines and plans, and who manages them. */
export default function Agency() {
  const { agency } = useIdentity();
  const [tab, show] = useTabParam();
  const tabs = agency?.role === 'owner' ? [...TABS, ...OWNER_TABS] : TABS;
  return (
    <Page title="Agency" description="All clients, their lines and plans">
      {agency ? (
        <Tabs
          label="Agency"
          value={tabs.some(({ value }) => value === tab) ? tab : 'clients'}
          onChange={show}
          tabs={tabs}
        />
      ) : (
        <EmptyState
          icon={<Building2 className="size-5" aria-hidden="true" />}
          title="This needs a signed-in user of an agency"
        >
          It shows the clients of an agency to its owner and co-admins.
        </EmptyState>
      )}
    </Page>
  );
}
