import { Trans, useLingui } from '@lingui/react/macro';
import { Plus, Trash2 } from 'lucide-react';
import { useRead } from '#console/api/queries.ts';
import { Button, IconButton } from '#console/components/button.tsx';
import { SelectField, TextAreaField, TextField } from '#console/components/field.tsx';
import { CUSTOM, customField, customName } from './conditions.ts';
import type { LeadActionsDraft } from './step-draft.ts';

/** In place of a member: the conversations are assigned to nobody. */
const NOBODY = 'nobody';
/** As the API names it. */
const IN_TURN = 'round_robin';
const FIELDS = ['companyName', 'jobTitle', 'notes'] as const;

type Option = { value: string; label: string };

/** With what was chosen, also if it is no longer offered. */
const known = (options: readonly Option[], value: string): readonly Option[] =>
  value === '' || options.some((one) => one.value === value)
    ? options
    : [...options, { value, label: value }];

/** What a step or a rule changes of a contact. */
export function DoFields<D extends LeadActionsDraft>({
  step,
  onChange,
  errorOf,
  error,
}: {
  step: D;
  onChange: (step: D) => void;
  errorOf: (field: string) => string | undefined;
  /** Of the whole step. */
  error: string | undefined;
}) {
  const { t } = useLingui();
  const lists = useRead('GET /api/lists', {}).data?.lists ?? [];
  const members = useRead('GET /api/team', {}).data?.members ?? [];
  const campaigns =
    useRead('GET /api/campaigns', { query: { status: 'active', limit: 200 } }).data?.campaigns ?? [];
  const { setFields, assign } = step;
  const names = { companyName: t`Company`, jobTitle: t`Job title`, notes: t`Notes` };
  const assignee = assign === undefined ? '' : (assign ?? NOBODY);
  return (
    <div className="flex flex-col gap-3">
      <div className="grid gap-3 sm:grid-cols-2">
        <TextAreaField
          label={t`Tags to add, one a line`}
          value={step.addTags}
          onChange={({ target }) => onChange({ ...step, addTags: target.value })}
          error={errorOf('addTags') ?? errorOf('addTags.0')}
        />
        <TextAreaField
          label={t`Tags to remove, one a line`}
          value={step.removeTags}
          onChange={({ target }) => onChange({ ...step, removeTags: target.value })}
          error={errorOf('removeTags') ?? errorOf('removeTags.0')}
        />
      </div>
      {setFields.map((one, index) => {
        const number = index + 1;
        const change = (next: Partial<typeof one>): void =>
          onChange({ ...step, setFields: setFields.with(index, { ...one, ...next }) });
        const isOwn = one.field.startsWith(`${CUSTOM}.`);
        return (
          <div
            key={one.key}
            role="group"
            aria-label={t`Field ${number}`}
            className="flex flex-wrap items-end gap-2"
          >
            <SelectField
              label={t`Field`}
              value={isOwn ? CUSTOM : one.field}
              options={[
                ...FIELDS.map((value) => ({ value, label: names[value] })),
                { value: CUSTOM, label: t`Own field` },
              ]}
              onChange={({ target }) =>
                change({ field: target.value === CUSTOM ? customField('') : target.value })
              }
            />
            {isOwn && (
              <TextField
                label={t`Name of the field`}
                value={customName(one.field)}
                onChange={({ target }) => change({ field: customField(target.value) })}
              />
            )}
            <TextField
              label={t`Value`}
              value={one.value}
              onChange={({ target }) => change({ value: target.value })}
              error={errorOf(`setFields.${one.field}`)}
            />
            <IconButton
              label={t`Remove field ${number}`}
              onClick={() => onChange({ ...step, setFields: setFields.toSpliced(index, 1) })}
            >
              <Trash2 className="size-4" aria-hidden="true" />
            </IconButton>
          </div>
        );
      })}
      <div>
        <Button
          small
          kind="ghost"
          icon={<Plus className="size-4" aria-hidden="true" />}
          onClick={() =>
            onChange({
              ...step,
              setFields: [...setFields, { key: crypto.randomUUID(), field: customField(''), value: '' }],
            })
          }
        >
          <Trans>Set a field</Trans>
        </Button>
      </div>
      <SelectField
        label={t`Move to the list`}
        value={step.moveToListId}
        options={known(
          [
            { value: '', label: t`None: it stays in its lists` },
            ...lists.map(({ _id, name }) => ({ value: _id, label: name })),
          ],
          step.moveToListId,
        )}
        onChange={({ target }) => onChange({ ...step, moveToListId: target.value })}
        error={errorOf('moveToListId')}
      />
      <SelectField
        label={t`Assign the conversation to`}
        value={assignee}
        options={known(
          [
            { value: '', label: t`As it is` },
            { value: NOBODY, label: t`Nobody` },
            { value: IN_TURN, label: t`Members in turn, who are not away` },
            ...members.map(({ userId, name, email }) => ({ value: userId, label: name || email || userId })),
          ],
          assignee,
        )}
        onChange={({ target: { value } }) =>
          onChange({ ...step, assign: value === '' ? undefined : value === NOBODY ? null : value })
        }
        error={errorOf('assign')}
      />
      <SelectField
        label={t`Start another campaign`}
        value={step.enterCampaignId}
        options={known(
          [{ value: '', label: t`None` }, ...campaigns.map(({ _id, name }) => ({ value: _id, label: name }))],
          step.enterCampaignId,
        )}
        onChange={({ target }) => onChange({ ...step, enterCampaignId: target.value })}
        error={errorOf('enterCampaignId')}
      />
      {error && <p className="text-bad">{error}</p>}
    </div>
  );
}

/** The webhook that a step calls. */
export function WebhookField({
  value,
  onChange,
  error,
}: {
  /** Empty: none. */
  value: string;
  onChange: (webhook: string) => void;
  error: string | undefined;
}) {
  const { t } = useLingui();
  const webhooks = useRead('GET /api/webhooks', { query: { limit: 200 } }).data?.webhooks ?? [];
  return (
    <SelectField
      label={t`Call a webhook`}
      value={value}
      options={known(
        [
          { value: '', label: t`None` },
          ...webhooks.map(({ _id, name, url }) => ({ value: _id, label: name || new URL(url).host })),
        ],
        value,
      )}
      onChange={({ target }) => onChange(target.value)}
      error={error}
    />
  );
}
