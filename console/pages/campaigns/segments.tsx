import { plural } from '@lingui/core/macro';
import { Plural, Trans, useLingui } from '@lingui/react/macro';
import { Link } from '@tanstack/react-router';
import { ChevronLeft, Filter, Plus } from 'lucide-react';
import { useState } from 'react';
import { useRead, useReadPages, useWrite } from '#console/api/queries.ts';
import { Button } from '#console/components/button.tsx';
import { EditableRow } from '#console/components/editable-row.tsx';
import { Drawer } from '#console/components/dialog.tsx';
import { Card, Page } from '#console/components/page.tsx';
import { ShowMore } from '#console/components/show-more.tsx';
import { EmptyState, ErrorState, SkeletonRows } from '#console/components/states.tsx';
import { toast, toastError } from '#console/components/toast.tsx';
import { addressName, listOf } from '#console/lib/format.ts';
import { useSearchParam } from '#console/lib/search.ts';
import { conditionText } from './conditions.ts';
import { type Segment, SegmentForm } from './segment-form.tsx';

/** Who is meant by conditions, and how many they are now. */
export default function Segments() {
  const { t } = useLingui();
  const segments = useRead('GET /api/segments', { query: { limit: 200 } });
  const [editing, edit] = useState<Segment | 'new' | null>(null);
  const [shown, show] = useSearchParam('segment');
  const known = segments.data?.segments;
  const create = (
    <Button kind="primary" icon={<Plus className="size-4" aria-hidden="true" />} onClick={() => edit('new')}>
      <Trans>New segment</Trans>
    </Button>
  );
  return (
    <Page
      title={t`Segments`}
      description={t`The contacts for whom conditions hold, at any moment`}
      above={
        <Link to="/contacts" className="flex w-fit items-center gap-1 text-muted hover:text-ink">
          <ChevronLeft className="size-4" aria-hidden="true" />
          <Trans>All contacts</Trans>
        </Link>
      }
      actions={create}
    >
      <Card>
        {segments.error && !known ? (
          <ErrorState error={segments.error} retry={() => void segments.refetch()} />
        ) : !known ? (
          <SkeletonRows rows={3} />
        ) : known.length === 0 ? (
          <EmptyState icon={<Filter className="size-5" aria-hidden="true" />} title={t`No segments yet`}>
            <Trans>A campaign can send to a segment in place of a list.</Trans>
          </EmptyState>
        ) : (
          <ul aria-label={t`Segments`} className="divide-y divide-line">
            {known.map((segment) => (
              <Row
                key={segment._id}
                segment={segment}
                edit={() => edit(segment)}
                show={() => show(segment._id)}
              />
            ))}
          </ul>
        )}
      </Card>
      {editing !== null && (
        <SegmentForm segment={editing === 'new' ? null : editing} close={() => edit(null)} />
      )}
      <SegmentLeads segment={known?.find(({ _id }) => _id === shown)} close={() => show('')} />
    </Page>
  );
}

function Row({ segment, edit, show }: { segment: Segment; edit: () => void; show: () => void }) {
  const { t } = useLingui();
  const { _id, name, when, count } = segment;
  const remove = useWrite('DELETE /api/segments/{id}', { refresh: ['GET /api/segments'] });
  const leads = plural(count, { one: '# lead', other: '# leads' });
  return (
    <EditableRow
      name={name}
      about={listOf(when.map(conditionText))}
      actions={
        <Button small aria-label={`${leads}: ${name}`} onClick={show}>
          {leads}
        </Button>
      }
      edit={edit}
      remove={{
        confirm: t`Delete the segment`,
        text: t`Its leads stay.`,
        busy: remove.isPending,
        run: () =>
          remove.mutate(
            { params: { id: _id } },
            { onSuccess: () => toast(t`The segment was deleted`), onError: toastError },
          ),
      }}
    />
  );
}

function SegmentLeads({ segment, close }: { segment: Segment | undefined; close: () => void }) {
  const { t } = useLingui();
  const leads = useReadPages(
    'GET /api/segments/{id}/leads',
    { params: { id: segment?._id ?? '' } },
    { enabled: segment !== undefined },
  );
  const rows = leads.data?.pages.flatMap((page) => page.leads);
  return (
    <Drawer
      open={segment !== undefined}
      onClose={close}
      title={segment?.name ?? t`Segment`}
      description={
        segment && <Plural value={segment.count} one="# lead is in it." other="# leads are in it." />
      }
    >
      {!rows ? (
        leads.error ? (
          <ErrorState error={leads.error} retry={() => void leads.refetch()} />
        ) : (
          <SkeletonRows rows={4} />
        )
      ) : rows.length === 0 ? (
        <EmptyState title={t`No leads found`} />
      ) : (
        <ul aria-label={t`Leads`} className="divide-y divide-line rounded-lg border border-line">
          {rows.map(({ _id, firstName, lastName, phone, email }) => {
            const address = addressName(phone ?? email ?? '');
            return (
              <li key={_id} className="flex flex-wrap items-baseline gap-x-3 px-3 py-2">
                <Link
                  to="/contacts"
                  search={{ lead: _id } as never}
                  className="min-w-0 flex-1 truncate font-medium hover:underline"
                >
                  {[firstName, lastName].filter(Boolean).join(' ') || address || t`Lead`}
                </Link>
                <span className="text-muted">{address}</span>
              </li>
            );
          })}
        </ul>
      )}
      <ShowMore read={leads} />
    </Drawer>
  );
}
