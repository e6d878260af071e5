import { useLingui } from '@lingui/react/macro';
import { lazy } from 'react';
import { Page } from '#console/components/page.tsx';
import { Tabs } from '#console/components/tabs.tsx';
import { useRead } from '#console/api/queries.ts';
import { pagePart } from '#console/lib/page-part.ts';
import { useTabParam } from '#console/lib/search.ts';
import { Rules } from './rules.tsx';

const OptInLinks = lazy(() => import('./opt-in-links.tsx'));
const OptOuts = pagePart('compliance/opt-outs', () => import('./opt-outs.tsx'));

/** Who is sent messages, when, and who no longer is. */
export default function Compliance() {
  const { t } = useLingui();
  const [tab, setTab] = useTabParam();
  const waiting = useRead('GET /api/compliance', {}).data?.suspectedOptOuts ?? 0;
  return (
    <Page
      title={t`Compliance`}
      description={t`When people are sent messages, who agreed to them, and who no longer does`}
    >
      <Tabs
        label={t`Compliance`}
        value={tab || 'rules'}
        onChange={setTab}
        tabs={[
          { value: 'rules', label: t`Rules`, content: <Rules /> },
          {
            value: 'opt-outs',
            label: waiting > 0 ? t`Opt-outs (${waiting} to decide)` : t`Opt-outs`,
            content: <OptOuts />,
          },
          { value: 'opt-in-links', label: t`Opt-in links`, content: <OptInLinks /> },
        ]}
      />
    </Page>
  );
}
