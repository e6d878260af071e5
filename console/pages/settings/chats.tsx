import { t } from '@lingui/core/macro';
import { Trans, useLingui } from '@lingui/react/macro';
import { Link2, MessagesSquare } from 'lucide-react';
import { useState } from 'react';
import { useRead, useWrite } from '#console/api/queries.ts';
import type { ResponseOf } from '#console/api/routes.ts';
import { useIdentity, useIsAdmin } from '#console/api/workspace.ts';
import { Badge, type Tone } from '#console/components/badge.tsx';
import { Button, buttonClasses } from '#console/components/button.tsx';
import { ConfirmButton } from '#console/components/confirm.tsx';
import { Dialog } from '#console/components/dialog.tsx';
import { issueOf, SelectField, TextField } from '#console/components/field.tsx';
import { FormDialog } from '#console/components/form-dialog.tsx';
import { Card } from '#console/components/page.tsx';
import { EmptyState, ErrorState, SkeletonRows } from '#console/components/states.tsx';
import { toast, toastError } from '#console/components/toast.tsx';

type Connection = ResponseOf<'GET /api/chat-connections'>['chatConnections'][number];
type Created = ResponseOf<'POST /api/chat-connections'>;
type Provider = Connection['provider'];
type Scope = Connection['scope'];

const PROVIDERS: Record<Provider, string> = { telegram: 'Telegram', slack: 'Slack' };
const TONES: Record<Connection['status'], Tone> = { linked: 'good', pending: 'neutral', broken: 'bad' };
const REFRESH = { refresh: ['GET /api/chat-connections'] } as const;
/** How often the list is read while a chat is being linked elsewhere, in milliseconds. */
const WHILE_LINKING_MS = 3000;

const statuses = (): Record<Connection['status'], string> => ({
  linked: t`Linked`,
  pending: t`Not opened yet`,
  broken: t`Broken`,
});

/** The chats in which members decide about drafts. */
export function Chats() {
  const { t } = useLingui();
  const [linking, link] = useState<'asking' | Created | null>(null);
  const chats = useRead(
    'GET /api/chat-connections',
    {},
    { refetchInterval: linking === null ? false : WHILE_LINKING_MS },
  );
  const known = chats.data?.chatConnections;
  return (
    <Card
      title={t`Decide in a chat`}
      actions={
        <Button small icon={<Link2 className="size-4" aria-hidden="true" />} onClick={() => link('asking')}>
          <Trans>Link a chat</Trans>
        </Button>
      }
    >
      {chats.error && !known ? (
        <ErrorState error={chats.error} retry={() => void chats.refetch()} />
      ) : !known ? (
        <SkeletonRows rows={2} />
      ) : known.length === 0 ? (
        <EmptyState
          icon={<MessagesSquare className="size-5" aria-hidden="true" />}
          title={t`No chats linked yet`}
        >
          <Trans>Drafts are shown there with buttons that approve, reject or ask for another one.</Trans>
        </EmptyState>
      ) : (
        <ul aria-label={t`Linked chats`} className="divide-y divide-line">
          {known.map((connection) => (
            <Row key={connection._id} connection={connection} />
          ))}
        </ul>
      )}
      {linking === 'asking' && <LinkForm close={() => link(null)} onCreated={link} />}
      {linking !== null && linking !== 'asking' && (
        <Opened
          created={linking}
          status={known?.find(({ _id }) => _id === linking._id)?.status ?? 'pending'}
          close={() => link(null)}
        />
      )}
    </Card>
  );
}

function Row({ connection }: { connection: Connection }) {
  const { t } = useLingui();
  const { caller } = useIdentity();
  const isAdmin = useIsAdmin();
  const { _id, provider, scope, userId, status, error } = connection;
  const members = useRead('GET /api/team', {}).data?.members ?? [];
  const remove = useWrite('DELETE /api/chat-connections/{id}', REFRESH);
  const member = members.find((one) => one.userId === userId);
  const who = member?.name || member?.email || userId;
  const title = PROVIDERS[provider];
  const isOwn = scope === 'member' && userId === caller.id;
  return (
    <li className="flex flex-wrap items-center gap-3 px-4 py-3">
      <div className="min-w-0 flex-1 basis-60">
        <p className="font-medium">{title}</p>
        <p className="text-xs wrap-anywhere text-muted">
          {scope === 'workspace' ? t`For the workspace, linked by ${who}` : t`For the contacts of ${who}`}
          {error !== null && ` · ${error}`}
        </p>
      </div>
      <Badge tone={TONES[status]}>{statuses()[status]}</Badge>
      {(isAdmin || isOwn) && (
        <ConfirmButton
          label={t`Unlink`}
          title={t`Unlink this chat?`}
          confirm={t`Unlink the chat`}
          busy={remove.isPending}
          onConfirm={() =>
            remove.mutate(
              { params: { id: _id } },
              { onSuccess: () => toast(t`The chat was unlinked`), onError: toastError },
            )
          }
        >
          <Trans>Its messages stay there, and lose their buttons.</Trans>
        </ConfirmButton>
      )}
    </li>
  );
}

function LinkForm({ close, onCreated }: { close: () => void; onCreated: (created: Created) => void }) {
  const { t } = useLingui();
  const isAdmin = useIsAdmin();
  const [provider, setProvider] = useState<Provider>('telegram');
  const [scope, setScope] = useState<Scope>('member');
  const create = useWrite('POST /api/chat-connections', REFRESH);
  const scopes = [
    { value: 'member', label: t`Drafts to my contacts` },
    ...(isAdmin ? [{ value: 'workspace', label: t`All other drafts of the workspace` }] : []),
  ];
  return (
    <FormDialog
      open
      onClose={close}
      title={t`Link a chat`}
      submit={t`Continue`}
      busy={create.isPending}
      error={create.error}
      fields={['provider', 'scope']}
      onSubmit={() => create.mutate({ body: { provider, scope } }, { onSuccess: onCreated })}
    >
      <SelectField
        label={t`Chat app`}
        value={provider}
        options={Object.entries(PROVIDERS).map(([value, label]) => ({ value, label }))}
        onChange={({ target }) => setProvider(target.value as Provider)}
        error={issueOf(create.error, 'provider')}
      />
      <SelectField
        label={t`What it is told`}
        value={scope}
        options={scopes}
        onChange={({ target }) => setScope(target.value as Scope)}
        error={issueOf(create.error, 'scope')}
      />
    </FormDialog>
  );
}

/** What to do in the app, until the chat is linked. */
function Opened({
  created: { linkUrl, code },
  status,
  close,
}: {
  created: Created;
  status: Connection['status'];
  close: () => void;
}) {
  const { t } = useLingui();
  return (
    <Dialog open onClose={close} title={status === 'linked' ? t`The chat is linked` : t`Open the app`}>
      <div className="flex flex-col gap-4" aria-live="polite">
        {status === 'linked' ? (
          <p>
            <Trans>Drafts are told there from now on.</Trans>
          </p>
        ) : (
          <>
            <p>
              <Trans>
                Open the link on the device with the app, or write the code to it. It works once, for 15
                minutes.
              </Trans>
            </p>
            <div>
              <a className={buttonClasses('primary')} href={linkUrl} target="_blank" rel="noreferrer">
                <Trans>Open the app</Trans>
              </a>
            </div>
            <TextField
              label={t`Code`}
              readOnly
              value={code}
              className="font-mono text-xs"
              onFocus={(event) => event.target.select()}
            />
          </>
        )}
      </div>
    </Dialog>
  );
}
