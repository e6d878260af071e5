import { Building2 } from 'lucide-react';
import { useIdentity } from '#console/api/workspace.ts';
import { Page } from '#console/components/page.tsx';
import { EmptyState } from '#console/components/states.tsx';
import { Tabs } from '#console/components/tabs.tsx';
import { useSearchParam } from '#console/lib/search.ts';
import { AgencyLines } from './agency-lines.tsx';
import { Clients } from './clients.tsx';

const TABS = [
  { value: 'clients', label: 'Clients', content: <Clients /> },
  { value: 'lines', label: 'Lines', content: <AgencyLines /> },
];

/** The clients of an agency and their lines. */
export default function Agency() {
  const { agency } = useIdentity();
  const [tab, show] = useSearchParam('tab');
  return (
    <Page title="Agency" description="All clients and their lines">
      {agency ? (
        <Tabs
          label="Agency"
          value={TABS.some(({ value }) => value === tab) ? tab : 'clients'}
          onChange={show}
          tabs={TABS}
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
