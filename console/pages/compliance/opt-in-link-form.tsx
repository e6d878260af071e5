import { useLingui } from '@lingui/react/macro';
import { useState } from 'react';
import { useRead, useWrite } from '#console/api/queries.ts';
import { issueOf, SelectField, TextAreaField, TextField } from '#console/components/field.tsx';
import { FormDialog } from '#console/components/form-dialog.tsx';
import { toast } from '#console/components/toast.tsx';
import { lineAddress, lineName } from '#console/lib/line.ts';

const OPTIONS = { refresh: ['GET /api/opt-in-links'] } as const;
const FIELDS = ['name', 'lineId', 'poolId', 'text', 'listId', 'tags', 'tags.0', 'campaignId', 'consent'];
const POOL = 'pool ';

/** Creates a link. It cannot be changed afterwards, because contacts consent to what it says. */
export function OptInLinkForm({ close }: { close: () => void }) {
  const { t } = useLingui();
  const lines = useRead('GET /api/lines/by-user', {}).data?.lines ?? [];
  const pools = useRead('GET /api/pools', { query: { limit: 200 } }).data?.pools ?? [];
  const lists = useRead('GET /api/lists', {}).data?.lists ?? [];
  const campaigns = useRead('GET /api/campaigns', { query: { limit: 200 } }).data?.campaigns ?? [];
  const senders = [
    ...lines
      .filter(({ requestedChannelType }) => requestedChannelType !== 'email')
      .map((line) => ({
        value: line._id,
        label: [lineName(line), lineAddress(line)].filter(Boolean).join(' · '),
      })),
    ...pools.map(({ _id, name }) => ({ value: `${POOL}${_id}`, label: t`The pool ${name}` })),
  ];
  const [draft, setDraft] = useState({
    name: '',
    sender: '',
    text: '',
    listId: '',
    tags: '',
    campaignId: '',
    consent: '',
  });
  const set = (field: keyof typeof draft) => (event: { target: { value: string } }) =>
    setDraft((current) => ({ ...current, [field]: event.target.value }));
  const create = useWrite('POST /api/opt-in-links', OPTIONS);
  const { error } = create;
  const sender = draft.sender || (senders[0]?.value ?? '');
  const tags = draft.tags
    .split('\n')
    .map((tag) => tag.trim())
    .filter((tag) => tag !== '');
  const submit = (): void =>
    create.mutate(
      {
        body: {
          name: draft.name,
          text: draft.text,
          consent: draft.consent,
          tags,
          ...(sender.startsWith(POOL)
            ? { poolId: sender.slice(POOL.length) }
            : sender !== '' && { lineId: sender }),
          ...(draft.listId !== '' && { listId: draft.listId }),
          ...(draft.campaignId !== '' && { campaignId: draft.campaignId }),
        },
      },
      { onSuccess: () => toast(t`The link was created`), afterRefetch: close },
    );
  return (
    <FormDialog
      open
      onClose={close}
      title={t`Create a link`}
      description={t`It cannot be changed afterwards: contacts consent to what it says.`}
      submit={t`Create`}
      busy={create.isPending}
      noValidate
      error={error}
      fields={FIELDS}
      onSubmit={submit}
    >
      <TextField label={t`Name`} value={draft.name} onChange={set('name')} error={issueOf(error, 'name')} />
      <SelectField
        label={t`Contacts write to`}
        value={sender}
        options={senders}
        onChange={set('sender')}
        error={issueOf(error, 'lineId') ?? issueOf(error, 'poolId')}
      />
      <TextField
        label={t`What they write`}
        hint={t`A code is added to it.`}
        value={draft.text}
        onChange={set('text')}
        error={issueOf(error, 'text')}
      />
      <TextAreaField
        label={t`What they consent to`}
        hint={t`The page shows it, and it is kept with each consent.`}
        value={draft.consent}
        onChange={set('consent')}
        error={issueOf(error, 'consent')}
      />
      <SelectField
        label={t`List of the leads`}
        value={draft.listId}
        options={[
          { value: '', label: t`None chosen: Quick Sends` },
          ...lists.map(({ _id, name }) => ({ value: _id, label: name })),
        ]}
        onChange={set('listId')}
        error={issueOf(error, 'listId')}
      />
      <TextAreaField
        label={t`Tags to add, one a line`}
        value={draft.tags}
        onChange={set('tags')}
        error={issueOf(error, 'tags') ?? issueOf(error, 'tags.0')}
      />
      <SelectField
        label={t`Campaign that they enter`}
        value={draft.campaignId}
        options={[
          { value: '', label: t`None` },
          ...campaigns
            .filter(({ status }) => status !== 'archived')
            .map(({ _id, name }) => ({ value: _id, label: name })),
        ]}
        onChange={set('campaignId')}
        error={issueOf(error, 'campaignId')}
      />
    </FormDialog>
  );
}
