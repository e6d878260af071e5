import { t } from '@lingui/core/macro';
import { Trans, useLingui } from '@lingui/react/macro';
import { useSearch } from '@tanstack/react-router';
import { ArrowLeftRight } from 'lucide-react';
import { useMemo } from 'react';
import { useRead, useReadPages } from '#console/api/queries.ts';
import { useTimeZone, useIsAdmin } from '#console/api/workspace.ts';
import { Badge } from '#console/components/badge.tsx';
import { Button } from '#console/components/button.tsx';
import { SelectField, TextField } from '#console/components/field.tsx';
import { Page } from '#console/components/page.tsx';
import { ReadTable } from '#console/components/read-table.tsx';
import { EmptyState } from '#console/components/states.tsx';
import type { Column } from '#console/components/table.tsx';
import { exactTimeOf } from '#console/lib/format.ts';
import { type Search, useSearchChange } from '#console/lib/search.ts';
import { callerName, FILTERS, NO_FILTERS, type Request, toneOf, useQueryOf } from './request.ts';
import { RequestDrawer } from './request-drawer.tsx';

const REFRESH_MS = 10_000;
const EXAMPLES = { path: '/api/messages/{id}', code: 'VALIDATION_ERROR' };

/** What programs and people called in the last 30 days. */
export default function Requests() {
  const { t } = useLingui();
  const isAdmin = useIsAdmin();
  return (
    <Page title={t`Requests`} description={t`What was called in the last 30 days, and how it ended`} fill>
      {isAdmin ? (
        <Log />
      ) : (
        <EmptyState title={t`For admins`}>
          <Trans>The log of requests can be read by an owner or admin of the workspace only.</Trans>
        </EmptyState>
      )}
    </Page>
  );
}

function Log() {
  const { t } = useLingui();
  const search: Search = useSearch({ strict: false });
  const change = useSearchChange();
  const log = useReadPages(
    'GET /api/requests',
    { query: useQueryOf(search) },
    { keep: true, refetchInterval: REFRESH_MS },
  );
  const rows = useMemo(() => log.data?.pages.flatMap((page) => page.requests), [log.data]);
  const zone = useTimeZone();
  const columns = useMemo(() => columnsIn(zone), [zone]);
  const selected = search['request'];
  return (
    <>
      <Filters search={search} change={change} />
      <div className="min-h-0 flex-1 border-t border-line bg-surface">
        <ReadTable
          label={t`Requests`}
          rowHeight={48}
          columns={columns}
          read={log}
          rows={rows}
          rowKey={({ _id }) => _id}
          selected={selected}
          onOpen={({ _id }) => change({ request: _id })}
          empty={<Empty isFiltered={isFiltered(search)} />}
        />
      </div>
      <RequestDrawer
        request={rows?.find(({ _id }) => _id === selected)}
        close={() => change({ request: '' })}
        filter={(filters) => change({ ...NO_FILTERS, ...filters, request: '' })}
      />
    </>
  );
}

const isFiltered = (search: Search): boolean =>
  Object.keys(NO_FILTERS).some((name) => (search[name] ?? '') !== '');

function Filters({ search, change }: { search: Search; change: (changes: Search) => void }) {
  const { t } = useLingui();
  return (
    <div
      role="search"
      aria-label={t`Requests`}
      className="grid shrink-0 grid-cols-2 items-end gap-3 px-4 pb-4 md:grid-cols-4"
    >
      {FILTERS.map(({ name, label, options }) => (
        <SelectField
          key={name}
          label={t(label)}
          value={search[name] ?? ''}
          options={options.map(({ value, label: text }) => ({
            value,
            label: typeof text === 'string' ? text : t(text),
          }))}
          onChange={(event) => change({ [name]: event.target.value })}
        />
      ))}
      <CallerFilter search={search} change={change} />
      <TextFilter
        label={t`Path`}
        placeholder={EXAMPLES.path}
        value={search['path'] ?? ''}
        onChange={(path) => change({ path })}
      />
      <TextFilter
        label={t`Code of the error`}
        placeholder={EXAMPLES.code}
        value={search['code'] ?? ''}
        onChange={(code) => change({ code })}
      />
      {isFiltered(search) && (
        <Button onClick={() => change(NO_FILTERS)}>
          <Trans>Clear the filters</Trans>
        </Button>
      )}
    </div>
  );
}

/** Programs apart from people, whose consoles read all the time, or one key. */
function CallerFilter({ search, change }: { search: Search; change: (changes: Search) => void }) {
  const { t } = useLingui();
  const { actorType = '', actorId = '' } = search;
  const keys = useRead('GET /api/keys', {}).data?.keys ?? [];
  const isOther = actorId !== '' && !keys.some(({ _id }) => _id === actorId);
  return (
    <SelectField
      label={t`By`}
      value={actorId || actorType}
      options={[
        { value: '', label: t`Everybody` },
        { value: 'key', label: t`Programs` },
        { value: 'user', label: t`People` },
        ...keys.map(({ _id, name }) => ({ value: _id, label: name })),
        ...(isOther ? [{ value: actorId, label: t`Of one person or key` }] : []),
      ]}
      onChange={({ target: { value } }) =>
        change(
          value === 'key' || value === 'user'
            ? { actorType: value, actorId: '' }
            : { actorType: '', actorId: value },
        )
      }
    />
  );
}

/** Applied with Enter. */
function TextFilter({
  label,
  placeholder,
  value,
  onChange,
}: {
  label: string;
  placeholder: string;
  value: string;
  onChange: (value: string) => void;
}) {
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        const given = new FormData(event.currentTarget).get('text');
        onChange(typeof given === 'string' ? given.trim() : '');
      }}
    >
      <TextField
        key={value}
        name="text"
        type="search"
        label={label}
        placeholder={placeholder}
        maxLength={200}
        defaultValue={value}
      />
    </form>
  );
}

const Empty = ({ isFiltered: filtered }: { isFiltered: boolean }) => (
  <EmptyState
    icon={<ArrowLeftRight className="size-5" aria-hidden="true" />}
    title={filtered ? t`No request matches` : t`No requests yet`}
  >
    {filtered
      ? t`Change or clear the filters to see other requests.`
      : t`Requests of keys and of signed-in people appear here some seconds after their response.`}
  </EmptyState>
);

const columnsIn = (zone: string): readonly Column<Request>[] => [
  { header: t`Time`, width: '10.5rem', wide: true, cell: ({ at }) => exactTimeOf(at, zone) },
  {
    header: t`Request`,
    width: 'minmax(0, 3fr)',
    cell: ({ method, path, count, at }) => (
      <>
        <span className="flex items-center gap-2">
          <code className="truncate font-mono text-xs">
            {method} {path}
          </code>
          {count > 1 && (
            <Badge>
              <Trans>{count} times</Trans>
            </Badge>
          )}
        </span>
        <span className="block text-xs text-muted md:hidden">{exactTimeOf(at, zone)}</span>
      </>
    ),
  },
  {
    header: t`Status`,
    width: 'minmax(4rem, 1fr)',
    cell: ({ status, code }) => (
      <span className="flex items-center gap-2">
        <Badge tone={toneOf(status)}>{status}</Badge>
        <span className="truncate text-xs text-muted max-md:hidden">{code}</span>
      </span>
    ),
  },
  { header: t`By`, width: 'minmax(6rem, 1fr)', wide: true, cell: callerName },
  {
    header: t`Time taken`,
    width: '6rem',
    right: true,
    wide: true,
    cell: ({ durationMs }) => `${durationMs} ms`,
  },
];
