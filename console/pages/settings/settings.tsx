import { Page } from '#console/components/page.tsx';
import { Tabs } from '#console/components/tabs.tsx';
import { useTabParam } from '#console/lib/search.ts';
import { AuditLog } from './audit-log.tsx';
import { EmailPreferences } from './email-preferences.tsx';
import { Fallback } from './fallback.tsx';
import { Keys } from './keys.tsx';
import { KnowledgeBase } from './knowledge-base.tsx';
import { Pools } from './pools.tsx';
import { Sessions } from './sessions.tsx';
import { Team } from './team.tsx';

const TABS = [
  { value: 'team', label: 'Team', content: <Team /> },
  { value: 'keys', label: 'API keys', content: <Keys /> },
  { value: 'sessions', label: 'Sessions', content: <Sessions /> },
  { value: 'pools', label: 'Line pools', content: <Pools /> },
  { value: 'copilot', label: 'AI copilot', content: <KnowledgeBase /> },
  { value: 'fallback', label: 'SMS fallback', content: <Fallback /> },
  { value: 'emails', label: 'Emails', content: <EmailPreferences /> },
  { value: 'audit', label: 'Audit log', content: <AuditLog /> },
];

export default function Settings() {
  const [tab, show] = useTabParam();
  return (
    <Page title="Settings" description="For everyone in this workspace">
      <Tabs
        label="Settings"
        value={TABS.some(({ value }) => value === tab) ? tab : 'team'}
        onChange={show}
        tabs={TABS}
      />
    </Page>
  );
}
