import { useLingui } from '@lingui/react/macro';
import { lazy, useState } from 'react';
import { Drawer } from '#console/components/dialog.tsx';
import { Tabs } from '#console/components/tabs.tsx';
import { CHANNELS, type Line, lineAddress, lineName } from '#console/lib/line.ts';
import { ContactCard } from './contact-card.tsx';
import { DownEmails } from './down-emails.tsx';
import { LimitsForm } from './limits-form.tsx';
import { Overview } from './overview.tsx';
import { ReputationTab } from './reputation.tsx';

const CarrierTab = lazy(() => import('./carrier-tab.tsx'));

/** Everything about one line. */
export function LineDrawer({ line, close }: { line: Line | undefined; close: () => void }) {
  const { t } = useLingui();
  const [tab, setTab] = useState('overview');
  return (
    <Drawer
      open={line !== undefined}
      onClose={close}
      title={line ? lineName(line) : t`Line`}
      description={
        line && [CHANNELS[line.requestedChannelType], lineAddress(line)].filter(Boolean).join(' · ')
      }
    >
      {line && (
        <Tabs
          label={t`About this line`}
          value={tab}
          onChange={setTab}
          tabs={[
            { value: 'overview', label: t`Overview`, content: <Overview key={line._id} line={line} /> },
            {
              value: 'reputation',
              label: t`Reputation`,
              content: <ReputationTab key={line._id} line={line} />,
            },
            {
              value: 'limits',
              label: t`Limits`,
              content: (
                <>
                  <LimitsForm key={line._id} line={line} />
                  <DownEmails line={line} />
                </>
              ),
            },
            ...(line.requestedChannelType === 'email'
              ? []
              : [
                  {
                    value: 'contact-card',
                    label: t`Contact card`,
                    content: <ContactCard key={line._id} line={line} />,
                  },
                ]),
            {
              value: 'carrier',
              label: t`Carrier`,
              content: <CarrierTab key={line._id} line={line} onShow={() => setTab('overview')} />,
            },
          ]}
        />
      )}
    </Drawer>
  );
}
