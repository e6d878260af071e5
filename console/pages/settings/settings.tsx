import { msg } from '@lingui/core/macro';
import { useLingui } from '@lingui/react/macro';
import { lazy } from 'react';
import { Page } from '#console/components/page.tsx';
import { Tabs } from '#console/components/tabs.tsx';
import { useTabParam } from '#console/lib/search.ts';
import { Team } from './team.tsx';

const Keys = lazy(() => import('./keys.tsx'));
const Sessions = lazy(() => import('./sessions.tsx'));
const Pools = lazy(() => import('./pools.tsx'));
const KnowledgeBase = lazy(() => import('./knowledge-base.tsx'));
const Fallback = lazy(() => import('./fallback.tsx'));
const EmailPreferences = lazy(() => import('./email-preferences.tsx'));
const AuditLog = lazy(() => import('./audit-log.tsx'));

const TABS = [
  { value: 'team', label: msg`Team`, content: <Team /> },
  { value: 'keys', label: msg`API keys`, content: <Keys /> },
  { value: 'sessions', label: msg`Sessions`, content: <Sessions /> },
  { value: 'pools', label: msg`Line pools`, content: <Pools /> },
  { value: 'copilot', label: msg`AI copilot`, content: <KnowledgeBase /> },
  { value: 'fallback', label: msg`SMS fallback`, content: <Fallback /> },
  { value: 'emails', label: msg`Emails`, content: <EmailPreferences /> },
  { value: 'audit', label: msg`Audit log`, content: <AuditLog /> },
];

export default function Settings() {
  const { t } = useLingui();
  const [tab, show] = useTabParam();
  return (
    <Page title={t`Settings`} description={t`For everyone in this workspace`}>
      <Tabs
        label={t`Settings`}
        value={TABS.some(({ value }) => value === tab) ? tab : 'team'}
        onChange={show}
        tabs={TABS.map((one) => ({ ...one, label: t(one.label) }))}
      />
    </Page>
  );
}
