import { t } from '@lingui/core/macro';
import { Trans, useLingui } from '@lingui/react/macro';
import { Link } from '@tanstack/react-router';
import { lazy, type ReactNode, Suspense } from 'react';
import { isNotFound } from '#console/api/client.ts';
import { useRead } from '#console/api/queries.ts';
import { useTimeZone } from '#console/api/workspace.ts';
import { Status } from '#console/components/badge.tsx';
import { Drawer } from '#console/components/dialog.tsx';
import { ErrorState, SkeletonRows } from '#console/components/states.tsx';
import { Tabs } from '#console/components/tabs.tsx';
import { addressName, fullTimeOf } from '#console/lib/format.ts';
import { useSearchParam } from '#console/lib/search.ts';
import { EditLead } from './edit-lead.tsx';
import { type Lead, leadName, type LeadList } from './lead.ts';
import { LeadActions } from './lead-actions.tsx';
import { LeadTags } from './lead-tags.tsx';

/** With the player of voice notes: whoever looks at the list does not load it. */
const LeadHistory = lazy(() => import('./lead-history.tsx'));

/** Everything about one lead. */
export function LeadDrawer({
  leadId,
  lists,
  close,
}: {
  leadId: string;
  lists: readonly LeadList[];
  close: () => void;
}) {
  const { t } = useLingui();
  const isOpen = leadId !== '';
  const { data, error, refetch } = useRead(
    'GET /api/leads/{id}',
    { params: { id: leadId } },
    { enabled: isOpen },
  );
  const [tab, setTab] = useSearchParam('part');
  const lead = isOpen ? data?.lead : undefined;
  return (
    <Drawer
      open={isOpen}
      onClose={close}
      title={lead ? leadName(lead) : t`Lead`}
      description={lead && [lead.jobTitle, lead.companyName].filter(Boolean).join(' · ')}
    >
      {error && isOpen && (!lead || isNotFound(error)) ? (
        <ErrorState error={error} retry={() => void refetch()} />
      ) : lead ? (
        <>
          <LeadActions key={lead._id} lead={lead} onGone={close} />
          <Tabs
            label={t`About this lead`}
            value={tab || 'details'}
            onChange={(next) => setTab(next === 'details' ? '' : next)}
            tabs={[
              { value: 'details', label: t`Details`, content: <Details lead={lead} lists={lists} /> },
              {
                value: 'history',
                label: t`History`,
                content: (
                  <Suspense fallback={<SkeletonRows rows={5} />}>
                    <LeadHistory lead={lead} />
                  </Suspense>
                ),
              },
              { value: 'edit', label: t`Edit`, content: <EditLead key={lead._id} lead={lead} /> },
            ]}
          />
        </>
      ) : (
        <SkeletonRows rows={4} />
      )}
    </Drawer>
  );
}

function Details({ lead, lists }: { lead: Lead; lists: readonly LeadList[] }) {
  const { t } = useLingui();
  const zone = useTimeZone();
  const custom = Object.entries(lead.customFields);
  return (
    <div className="flex flex-col gap-5">
      <dl className="flex flex-col gap-3">
        <Fact label={lead.phones.length > 1 ? t`Phone numbers` : t`Phone number`}>
          <Addresses addresses={lead.phones} />
        </Fact>
        <Fact label={lead.emails.length > 1 ? t`Email addresses` : t`Email address`}>
          <Addresses addresses={lead.emails} />
        </Fact>
        <Fact label={t`List`}>{lists.find(({ _id }) => _id === lead.listId)?.name}</Fact>
        <Fact label={t`Owner`}>{lead.contactOwnerEmail}</Fact>
        <Fact label={t`Tags`}>
          <LeadTags lead={lead} />
        </Fact>
        {lead.status && (
          <Fact label={t`Status`}>
            <Status status={lead.status} />
          </Fact>
        )}
        <Fact label={t`Source`}>{lead.source}</Fact>
        <Fact label={t`Added`}>
          <time dateTime={lead.createdAt}>{fullTimeOf(lead.createdAt, zone)}</time>
        </Fact>
        {lead.notes !== '' && (
          <Fact label={t`Notes`}>
            <span className="whitespace-pre-wrap">{lead.notes}</span>
          </Fact>
        )}
      </dl>
      {custom.length > 0 && (
        <section>
          <h3 className="mb-2 font-medium">
            <Trans>Custom fields</Trans>
          </h3>
          <dl className="flex flex-col gap-3">
            {custom.map(([name, value]) => (
              <Fact key={name} label={name}>
                <span className="whitespace-pre-wrap">{value}</span>
              </Fact>
            ))}
          </dl>
        </section>
      )}
    </div>
  );
}

const Fact = ({ label, children }: { label: string; children: ReactNode }) => (
  <div className="grid grid-cols-[8rem_1fr] gap-3">
    <dt className="text-muted">{label}</dt>
    <dd className="min-w-0 wrap-anywhere">{children || '–'}</dd>
  </div>
);

/** Each leads to its conversation. */
const Addresses = ({ addresses }: { addresses: readonly string[] }) =>
  addresses.length === 0 ? (
    '–'
  ) : (
    <ul>
      {addresses.map((address) => (
        <li key={address}>
          <Link
            to="/inbox/{-$address}"
            params={{ address }}
            className="text-accent-ink hover:underline"
            title={t`Open the conversation`}
          >
            {addressName(address)}
          </Link>
        </li>
      ))}
    </ul>
  );
