import { t } from '@lingui/core/macro';
import { Trans, useLingui } from '@lingui/react/macro';
import { Plug } from 'lucide-react';
import { useState } from 'react';
import { useRead, useReadPages, useWrite } from '#console/api/queries.ts';
import type { RequestTo, ResponseOf } from '#console/api/routes.ts';
import { useIsAdmin } from '#console/api/workspace.ts';
import { Badge, type Tone } from '#console/components/badge.tsx';
import { Button } from '#console/components/button.tsx';
import { ConfirmButton } from '#console/components/confirm.tsx';
import { Fact, Facts } from '#console/components/facts.tsx';
import { issueOf, SelectField, TextField } from '#console/components/field.tsx';
import { FormDialog } from '#console/components/form-dialog.tsx';
import { Card } from '#console/components/page.tsx';
import { ShortTime } from '#console/components/short-time.tsx';
import { ShowMore } from '#console/components/show-more.tsx';
import { EmptyState, ErrorState, SkeletonRows } from '#console/components/states.tsx';
import { toast, toastError } from '#console/components/toast.tsx';

type Connection = ResponseOf<'GET /api/crm-connections'>['crmConnections'][number];
type Entry = ResponseOf<'GET /api/crm-connections/{id}/log'>['entries'][number];
type Provider = Connection['provider'];
type Input = NonNullable<RequestTo<'POST /api/crm-connections'>['body']>;

const PROVIDERS: Record<Provider, string> = { hubspot: 'HubSpot', highlevel: 'HighLevel' };
const REFRESH = { refresh: ['GET /api/crm-connections', 'GET /api/crm-connections/{id}/log'] } as const;
/** How often the connections and their logs are read, in milliseconds. */
const READ_EVERY_MS = 10_000;
const TONES: Record<Entry['outcome'], Tone> = {
  synced: 'good',
  refused: 'bad',
  conflict: 'warn',
  set_aside: 'bad',
};
const yesOrNo = () => [
  { value: 'true', label: t`Yes` },
  { value: 'false', label: t`No` },
];
const outcomes = (): Record<Entry['outcome'], string> => ({
  synced: t`Synchronized`,
  refused: t`Refused`,
  conflict: t`Conflict`,
  set_aside: t`Set aside`,
});
const subjects = (): Record<Entry['subject'], string> => ({
  contact: t`Contact`,
  message: t`Message`,
  reply: t`Reply`,
  call: t`Call`,
  opt_out: t`Opt-out`,
  opt_in: t`Opt-in`,
});

/** The CRMs whose contacts become leads, and which are told what happens with them. */
export default function Crms() {
  const { t } = useLingui();
  const isAdmin = useIsAdmin();
  const [connecting, connect] = useState<Provider | 'new' | null>(null);
  const read = useRead('GET /api/crm-connections', {}, { refetchInterval: READ_EVERY_MS });
  const known = read.data?.crmConnections;
  const start = isAdmin && (
    <Button small icon={<Plug className="size-4" aria-hidden="true" />} onClick={() => connect('new')}>
      <Trans>Connect a CRM</Trans>
    </Button>
  );
  return (
    <div className="flex flex-col gap-4">
      <Card title={t`Connected CRMs`} actions={start}>
        {read.error && !known ? (
          <ErrorState error={read.error} retry={() => void read.refetch()} />
        ) : !known ? (
          <SkeletonRows rows={2} />
        ) : known.length === 0 ? (
          <EmptyState
            icon={<Plug className="size-5" aria-hidden="true" />}
            title={t`No CRM is connected yet`}
          >
            <Trans>
              Its contacts become leads, and messages, replies, calls and opt-outs appear there. HubSpot and
              HighLevel can be connected.
            </Trans>
          </EmptyState>
        ) : (
          <ul aria-label={t`Connected CRMs`} className="divide-y divide-line">
            {known.map((connection) => (
              <Row key={connection._id} connection={connection} again={() => connect(connection.provider)} />
            ))}
          </ul>
        )}
      </Card>
      {known?.map((connection) => (
        <Log key={connection._id} connection={connection} />
      ))}
      {connecting !== null && (
        <ConnectForm
          again={known?.find(({ provider }) => provider === connecting) ?? null}
          close={() => connect(null)}
        />
      )}
    </div>
  );
}

function Row({ connection, again }: { connection: Connection; again: () => void }) {
  const { t } = useLingui();
  const isAdmin = useIsAdmin();
  const { _id, provider, accountId, listId, campaignId, createContacts, status, error, syncedAt, waiting } =
    connection;
  const lists = useRead('GET /api/lists', {}).data?.lists ?? [];
  const campaigns = useRead('GET /api/campaigns', { query: { limit: 200 } }).data?.campaigns ?? [];
  const check = useWrite('POST /api/crm-connections/{id}/check', REFRESH);
  // Not the log, which is deleted with it.
  const remove = useWrite('DELETE /api/crm-connections/{id}', { refresh: ['GET /api/crm-connections'] });
  const title = PROVIDERS[provider];
  const list = lists.find((one) => one._id === listId)?.name ?? t`Quick Sends`;
  const campaign = campaigns.find((one) => one._id === campaignId)?.name;
  return (
    <li className="flex flex-col gap-3 px-4 py-3">
      <div className="flex flex-wrap items-center gap-3">
        <div className="min-w-0 flex-1 basis-60">
          <p className="font-medium">{title}</p>
          <p className="text-xs wrap-anywhere text-muted">{t`Account ${accountId}`}</p>
        </div>
        {status === 'broken' ? (
          <Badge tone="bad">{t`Broken`}</Badge>
        ) : error !== null ? (
          <Badge tone="warn">{t`Does not answer`}</Badge>
        ) : (
          <Badge tone="good">{t`Connected`}</Badge>
        )}
        {isAdmin && (
          <>
            <Button
              small
              busy={check.isPending}
              onClick={() =>
                check.mutate(
                  { params: { id: _id } },
                  { onSuccess: () => toast(t`${title} accepts the token`), onError: toastError },
                )
              }
            >
              <Trans>Check</Trans>
            </Button>
            <Button small onClick={again}>
              <Trans>Change</Trans>
            </Button>
            <ConfirmButton
              label={t`Disconnect`}
              title={t`Disconnect ${title}?`}
              confirm={t`Disconnect the CRM`}
              busy={remove.isPending}
              onConfirm={() =>
                remove.mutate(
                  { params: { id: _id } },
                  { onSuccess: () => toast(t`${title} was disconnected`), onError: toastError },
                )
              }
            >
              <Trans>
                Its token and the log are deleted, and nothing is told to it any more. Leads remain.
              </Trans>
            </ConfirmButton>
          </>
        )}
      </div>
      {error !== null && <p className="text-sm wrap-anywhere text-bad">{error}</p>}
      <Facts>
        <Fact name={t`List`}>{list}</Fact>
        <Fact name={t`Campaign`}>{campaign ?? t`None`}</Fact>
        <Fact name={t`Makes contacts`}>{createContacts ? t`Yes` : t`No`}</Fact>
        <Fact name={t`Synchronized`}>{syncedAt === null ? t`Not yet` : <ShortTime at={syncedAt} />}</Fact>
        <Fact name={t`To be told`}>{String(waiting)}</Fact>
      </Facts>
    </li>
  );
}

/** What was taken over and told, what was refused and why, and where both sides differed. */
function Log({ connection: { _id, provider } }: { connection: Connection }) {
  const { t } = useLingui();
  const [outcome, setOutcome] = useState<Entry['outcome'] | ''>('');
  const input = { params: { id: _id }, query: outcome === '' ? {} : { outcome } };
  const read = useReadPages('GET /api/crm-connections/{id}/log', input, { refetchInterval: READ_EVERY_MS });
  const entries = read.data?.pages.flatMap((page) => page.entries);
  const title = PROVIDERS[provider];
  return (
    <Card title={t`What ${title} and this workspace have told each other`}>
      <div className="px-4 pt-3">
        <SelectField
          label={t`Show`}
          value={outcome}
          options={[
            { value: '', label: t`Everything` },
            ...Object.entries(outcomes()).map(([value, label]) => ({ value, label })),
          ]}
          onChange={({ target }) => setOutcome(target.value as Entry['outcome'] | '')}
        />
      </div>
      {read.error && !entries ? (
        <ErrorState error={read.error} retry={() => void read.refetch()} />
      ) : !entries ? (
        <SkeletonRows rows={3} />
      ) : entries.length === 0 ? (
        <EmptyState title={t`Nothing yet`}>
          <Trans>Entries are kept for 30 days.</Trans>
        </EmptyState>
      ) : (
        <ul aria-label={t`Log of ${title}`} className="divide-y divide-line">
          {entries.map((entry) => (
            <li key={entry._id} className="flex flex-wrap items-center gap-3 px-4 py-2">
              <Badge tone={TONES[entry.outcome]}>{outcomes()[entry.outcome]}</Badge>
              <span className="min-w-0 flex-1 basis-60 wrap-anywhere">
                {entry.direction === 'in' ? t`From ${title}` : t`To ${title}`} · {subjects()[entry.subject]}
                {entry.reason !== null && ` · ${entry.reason}`}
                {entry.contactId !== null && (
                  <span className="text-xs text-muted"> · {t`contact ${entry.contactId}`}</span>
                )}
              </span>
              <ShortTime at={entry.at} />
            </li>
          ))}
        </ul>
      )}
      <ShowMore read={read} />
    </Card>
  );
}

/** Connects a CRM, or connects it again with another token. */
function ConnectForm({ again, close }: { again: Connection | null; close: () => void }) {
  const { t } = useLingui();
  const lists = useRead('GET /api/lists', {}).data?.lists ?? [];
  const campaigns = useRead('GET /api/campaigns', { query: { limit: 200 } }).data?.campaigns ?? [];
  const create = useWrite('POST /api/crm-connections', REFRESH);
  const [values, setValues] = useState({
    provider: again?.provider ?? 'hubspot',
    token: '',
    accountId: again?.provider === 'highlevel' ? again.accountId : '',
    listId: again?.listId ?? '',
    campaignId: again?.campaignId ?? '',
    createContacts: String(again?.createContacts ?? false),
    importExisting: 'true',
  });
  const set = (changed: Partial<typeof values>): void => setValues({ ...values, ...changed });
  const { provider, token, accountId, listId, campaignId, createContacts, importExisting } = values;
  const title = PROVIDERS[provider];
  const body: Input = {
    provider,
    token,
    createContacts: createContacts === 'true',
    importExisting: importExisting === 'true',
    ...(provider === 'highlevel' && accountId.trim() !== '' && { accountId }),
    ...(listId !== '' && { listId }),
    ...(campaignId !== '' && { campaignId }),
  };
  return (
    <FormDialog
      open
      onClose={close}
      title={again ? t`Connect ${title} again` : t`Connect a CRM`}
      submit={t`Connect`}
      busy={create.isPending}
      error={create.error}
      fields={['provider', 'token', 'accountId', 'listId', 'campaignId']}
      onSubmit={() =>
        create.mutate(
          { body },
          {
            whileShown: () => {
              toast(t`${title} is connected`);
              close();
            },
          },
        )
      }
    >
      {!again && (
        <SelectField
          label={t`CRM`}
          value={provider}
          options={Object.entries(PROVIDERS).map(([value, label]) => ({ value, label }))}
          onChange={({ target }) => set({ provider: target.value as Provider })}
          error={issueOf(create.error, 'provider')}
        />
      )}
      <TextField
        label={t`Token`}
        type="password"
        autoComplete="off"
        required
        hint={
          provider === 'hubspot'
            ? t`The access token of a private app.`
            : t`A private integration token of the location, or the code of the installed app.`
        }
        value={token}
        onChange={({ target }) => set({ token: target.value })}
        error={issueOf(create.error, 'token')}
      />
      {provider === 'highlevel' && (
        <TextField
          label={t`Id of the location`}
          hint={t`Only with a private integration token.`}
          value={accountId}
          onChange={({ target }) => set({ accountId: target.value })}
          error={issueOf(create.error, 'accountId')}
        />
      )}
      <SelectField
        label={t`List in which contacts become leads`}
        value={listId}
        options={[
          { value: '', label: t`Quick Sends` },
          ...lists.map(({ _id, name }) => ({ value: _id, label: name })),
        ]}
        onChange={({ target }) => set({ listId: target.value })}
        error={issueOf(create.error, 'listId')}
      />
      <SelectField
        label={t`Campaign that new leads enter`}
        value={campaignId}
        options={[
          { value: '', label: t`None` },
          ...campaigns.map(({ _id, name }) => ({ value: _id, label: name })),
        ]}
        onChange={({ target }) => set({ campaignId: target.value })}
        error={issueOf(create.error, 'campaignId')}
      />
      <SelectField
        label={t`Make contacts of people it does not know`}
        value={createContacts}
        options={yesOrNo()}
        onChange={({ target }) => set({ createContacts: target.value })}
      />
      {!again && (
        <SelectField
          label={t`Take over the contacts it has already`}
          value={importExisting}
          options={yesOrNo()}
          onChange={({ target }) => set({ importExisting: target.value })}
        />
      )}
    </FormDialog>
  );
}
