import { useLingui } from '@lingui/react/macro';
import { lazy, type ReactNode } from 'react';
import { Page } from '#console/components/page.tsx';
import { Tabs } from '#console/components/tabs.tsx';
import { useTabParam } from '#console/lib/search.ts';
import { SETTINGS } from '#console/shell/navigation.ts';
import { Team } from './team.tsx';

const Keys = lazy(() => import('./keys.tsx'));
const Sessions = lazy(() => import('./sessions.tsx'));
const Pools = lazy(() => import('./pools.tsx'));
const Rules = lazy(() => import('./rules.tsx'));
const KnowledgeBase = lazy(() => import('./knowledge-base.tsx'));
const Crms = lazy(() => import('./crms.tsx'));
const Fallback = lazy(() => import('./fallback.tsx'));
const EmailPreferences = lazy(() => import('./email-preferences.tsx'));
const AuditLog = lazy(() => import('./audit-log.tsx'));

const CONTENTS: Record<(typeof SETTINGS)[number]['value'], ReactNode> = {
  team: <Team />,
  keys: <Keys />,
  sessions: <Sessions />,
  pools: <Pools />,
  copilot: <KnowledgeBase />,
  rules: <Rules />,
  crms: <Crms />,
  fallback: <Fallback />,
  emails: <EmailPreferences />,
  audit: <AuditLog />,
};

export default function Settings() {
  const { t } = useLingui();
  const [tab, show] = useTabParam();
  return (
    <Page title={t`Settings`} description={t`For everyone in this workspace`}>
      <Tabs
        label={t`Settings`}
        value={SETTINGS.some(({ value }) => value === tab) ? tab : 'team'}
        onChange={show}
        tabs={SETTINGS.map(({ value, title }) => ({ value, label: t(title), content: CONTENTS[value] }))}
      />
    </Page>
  );
}
