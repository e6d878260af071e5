import { msg } from '@lingui/core/macro';
import { Trans, useLingui } from '@lingui/react/macro';
import { Link } from '@tanstack/react-router';
import { Plus, Upload } from 'lucide-react';
import { lazy, Suspense, useState } from 'react';
import { useRead } from '#console/api/queries.ts';
import { Button } from '#console/components/button.tsx';
import { NearLimit } from '#console/components/near-limit.tsx';
import { Page } from '#console/components/page.tsx';
import { SearchBox } from '#console/components/search-box.tsx';
import { ErrorState, SkeletonRows } from '#console/components/states.tsx';
import { useSearchChange, useSearchParam } from '#console/lib/search.ts';
import { AddLead } from './add-lead.tsx';
import { ImportProgress } from './import-progress.tsx';
import type { LeadList } from './lead.ts';
import { LeadDrawer } from './lead-drawer.tsx';
import { Leads } from './leads.tsx';
import { ListForm } from './list-form.tsx';
import { ListMenu } from './list-menu.tsx';
import { ListSidebar } from './list-sidebar.tsx';
import { AddOptOut, OptOuts } from './opt-outs.tsx';

/** Loaded when somebody imports. */
const ImportLeads = lazy(() => import('./import-leads.tsx').then((file) => ({ default: file.ImportLeads })));

const TABS = [
  { value: '', label: msg`Leads` },
  { value: 'opt-outs', label: msg`Opt-outs` },
] as const;

export default function Contacts() {
  const { t } = useLingui();
  const lists = useRead('GET /api/lists', {});
  const [tab, setTab] = useSearchParam('tab');
  const [dialog, setDialog] = useState<'lead' | 'import' | 'list' | 'opt-out' | null>(null);
  const close = (): void => setDialog(null);
  const isOptOuts = tab === 'opt-outs';
  const known = lists.data?.lists ?? [];
  const plus = <Plus className="size-4" aria-hidden="true" />;
  const actions = isOptOuts ? (
    <Button kind="primary" icon={plus} onClick={() => setDialog('opt-out')}>
      <Trans>Opt an address out</Trans>
    </Button>
  ) : (
    <>
      <Button icon={<Upload className="size-4" aria-hidden="true" />} onClick={() => setDialog('import')}>
        <Trans>Import</Trans>
      </Button>
      <Button kind="primary" icon={plus} onClick={() => setDialog('lead')}>
        <Trans>Add a lead</Trans>
      </Button>
    </>
  );
  const go = useSearchChange();
  const [listId] = useSearchParam('list');
  return (
    <Page
      title={t`Contacts`}
      description={t`The people you write to, and who has opted out`}
      actions={actions}
      fill
    >
      <NearLimit limit="lists" />
      <NearLimit limit="customFields" />
      <div role="group" aria-label={t`Show`} className="flex shrink-0 gap-1 px-4 pb-2">
        {TABS.map(({ value, label }) => (
          <button
            key={value}
            type="button"
            aria-pressed={tab === value}
            onClick={() => setTab(value)}
            className="rounded-lg px-2.5 py-1 font-medium text-muted hover:bg-hover aria-pressed:bg-selected aria-pressed:text-ink"
          >
            {t(label)}
          </button>
        ))}
        <Link to="/segments" className="rounded-lg px-2.5 py-1 font-medium text-muted hover:bg-hover">
          <Trans>Segments</Trans>
        </Link>
      </div>
      <div className="min-h-0 flex-1 border-t border-line bg-surface">
        {isOptOuts ? (
          <OptOuts />
        ) : lists.error && !lists.data ? (
          <ErrorState error={lists.error} retry={() => void lists.refetch()} />
        ) : lists.data ? (
          <Lists
            lists={known}
            onNew={() => setDialog('list')}
            add={
              <Button icon={plus} onClick={() => setDialog('lead')}>
                <Trans>Add a lead</Trans>
              </Button>
            }
          />
        ) : (
          <SkeletonRows />
        )}
      </div>
      <AddLead
        open={dialog === 'lead'}
        close={close}
        lists={known}
        listId={listId}
        onAdded={(lead) => go({ lead })}
      />
      {dialog === 'import' && (
        <Suspense fallback={null}>
          <ImportLeads
            lists={known}
            listId={listId}
            close={close}
            onStarted={(list, id) => go({ list, import: id, q: '' })}
          />
        </Suspense>
      )}
      {dialog === 'list' && <ListForm close={close} onCreated={(list) => go({ list, q: '', import: '' })} />}
      {dialog === 'opt-out' && <AddOptOut close={close} />}
    </Page>
  );
}

function Lists({
  lists,
  onNew,
  add,
}: {
  lists: readonly LeadList[];
  onNew: () => void;
  add: React.ReactNode;
}) {
  const { t } = useLingui();
  const go = useSearchChange();
  const [listId] = useSearchParam('list');
  const [search, setSearch] = useSearchParam('q');
  const [leadId, select] = useSearchParam('lead');
  const [importId] = useSearchParam('import');
  const list = lists.find(({ _id }) => _id === listId);
  return (
    <div className="flex h-full max-md:flex-col">
      <ListSidebar
        lists={lists}
        selected={listId}
        onSelect={(next) => go({ list: next, import: '' })}
        onNew={onNew}
      />
      <section aria-label={list?.name ?? t`All leads`} className="flex min-h-0 min-w-0 flex-1 flex-col">
        <div className="flex items-center gap-2 border-b border-line p-2">
          {/* A new list or import ends a search: the field begins anew with what the address says. */}
          <SearchBox
            key={`${listId} ${importId}`}
            label={t`Search leads`}
            value={search}
            onChange={setSearch}
          />
          {list && <ListMenu key={list._id} list={list} onDeleted={() => go({ list: '', import: '' })} />}
        </div>
        {importId !== '' && list && (
          <ImportProgress
            key={importId}
            listId={list._id}
            importId={importId}
            close={() => go({ import: '' })}
          />
        )}
        <div className="min-h-0 flex-1">
          <Leads
            listId={listId}
            lists={lists}
            search={search}
            selected={leadId}
            onOpen={select}
            action={add}
          />
        </div>
      </section>
      <LeadDrawer leadId={leadId} lists={lists} close={() => go({ lead: '', part: '' })} />
    </div>
  );
}
