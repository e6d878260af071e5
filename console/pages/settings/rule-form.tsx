import { Trans, useLingui } from '@lingui/react/macro';
import { Plus, Trash2 } from 'lucide-react';
import { useState } from 'react';
import { useRead, useWrite } from '#console/api/queries.ts';
import { Button } from '#console/components/button.tsx';
import { issueOf, SelectField, TextAreaField, TextField } from '#console/components/field.tsx';
import { FormDialog } from '#console/components/form-dialog.tsx';
import { toast } from '#console/components/toast.tsx';
import { ConditionFields } from '#console/pages/campaigns/condition-fields.tsx';
import { DoFields } from '#console/pages/campaigns/do-fields.tsx';
import { SpanFields } from '#console/pages/campaigns/span-fields.tsx';
import {
  type ActionDraft,
  newAction,
  newRule,
  type Rule,
  type RuleDraft,
  ruleDraftOf,
  ruleOf,
  rulePaths,
  triggers,
} from './rule-draft.ts';
import { RuleDryRun } from './rule-dry-run.tsx';

const REFRESH = { refresh: ['GET /api/rules'] } as const;
/** As many as the API takes. */
const MOST_ACTIONS = 10;

/** Creates a rule, or changes the one given. */
export function RuleForm({ rule, close }: { rule: Rule | null; close: () => void }) {
  const { t } = useLingui();
  const [draft, setDraft] = useState<RuleDraft>(() => (rule ? ruleDraftOf(rule) : newRule()));
  const change = (next: Partial<RuleDraft>): void => setDraft((current) => ({ ...current, ...next }));
  const create = useWrite('POST /api/rules', REFRESH);
  const update = useWrite('PATCH /api/rules/{id}', REFRESH);
  const rehearsal = useWrite('POST /api/rules/dry-run', {});
  // What was tried last tells of the fields, too.
  const error = create.error ?? update.error ?? rehearsal.error;
  const errorOf = (path: string): string | undefined => issueOf(error, path);
  const submit = (): void => {
    const body = ruleOf(draft);
    const callbacks = {
      onSuccess: () => toast(rule ? t`The rule was changed` : t`The rule was created`),
      afterRefetch: close,
    };
    rehearsal.reset();
    if (rule) update.mutate({ params: { id: rule._id }, body }, callbacks);
    else create.mutate({ body }, callbacks);
  };
  const tryIt = (): void => {
    const { name, ...body } = ruleOf(draft);
    create.reset();
    update.reset();
    rehearsal.mutate({ body: { ...body, ...(name.trim() !== '' && { name }) } });
  };
  const actions = draft.do;
  return (
    <FormDialog
      open
      onClose={close}
      title={rule ? t`Edit the rule` : t`New rule`}
      submit={rule ? t`Save` : t`Create`}
      busy={create.isPending || update.isPending}
      noValidate
      error={error}
      fields={rulePaths(draft)}
      onSubmit={submit}
    >
      <TextField
        label={t`Name`}
        value={draft.name}
        onChange={({ target }) => change({ name: target.value })}
        error={errorOf('name')}
      />
      <SelectField
        label={t`When`}
        value={draft.on}
        options={triggers()}
        onChange={({ target }) => change({ on: target.value as Rule['on'] })}
        error={errorOf('on')}
      />
      {draft.on === 'no_answer_for' && (
        <SpanFields
          legend={t`Since the first message without an answer`}
          value={draft.after}
          onChange={(span) => change({ after: { ...draft.after, ...span } })}
          errorOf={(unit) => errorOf(`after.${unit}`)}
          error={errorOf('after')}
        />
      )}
      {draft.on === 'tag_added' && (
        <TextAreaField
          label={t`One of these tags, one a line (optional)`}
          value={draft.tags}
          onChange={({ target }) => change({ tags: target.value })}
          error={errorOf('tags') ?? errorOf('tags.0')}
        />
      )}
      <fieldset className="flex flex-col gap-2">
        <legend className="mb-2 font-medium">
          <Trans>Only if all of these hold</Trans>
        </legend>
        <ConditionFields
          conditions={draft.when}
          joined="all"
          fewest={0}
          onChange={(when) => change({ when })}
          errorOf={(path) => errorOf(`when.${path}`)}
        />
      </fieldset>
      {actions.map((action, index) => {
        const number = index + 1;
        return (
          <fieldset key={action.key} className="flex flex-col gap-3 rounded-lg border border-line p-3">
            <legend className="px-1 font-medium">
              {actions.length === 1 ? <Trans>What is done</Trans> : <Trans>What is done, {number}</Trans>}
            </legend>
            <ActionFields
              action={action}
              onChange={(next) => change({ do: actions.with(index, next) })}
              errorOf={(field) => errorOf(`do.${index}.${field}`)}
              error={errorOf(`do.${index}`) ?? (index === 0 ? errorOf('do') : undefined)}
            />
            {actions.length > 1 && (
              <div>
                <Button
                  small
                  kind="ghost"
                  icon={<Trash2 className="size-4" aria-hidden="true" />}
                  onClick={() => change({ do: actions.toSpliced(index, 1) })}
                >
                  <Trans>Remove {number}</Trans>
                </Button>
              </div>
            )}
          </fieldset>
        );
      })}
      {actions.length < MOST_ACTIONS && (
        <div>
          <Button
            small
            kind="ghost"
            icon={<Plus className="size-4" aria-hidden="true" />}
            onClick={() => change({ do: [...actions, newAction()] })}
          >
            <Trans>Do something else, too</Trans>
          </Button>
        </div>
      )}
      <RuleDryRun result={rehearsal.data?.dryRun} busy={rehearsal.isPending} run={tryIt} />
    </FormDialog>
  );
}

function ActionFields({
  action,
  onChange,
  errorOf,
  error,
}: {
  action: ActionDraft;
  onChange: (action: ActionDraft) => void;
  errorOf: (field: string) => string | undefined;
  error: string | undefined;
}) {
  const { t } = useLingui();
  const change = (next: Partial<ActionDraft>): void => onChange({ ...action, ...next });
  return (
    <>
      <ReplyFields action={action} change={change} errorOf={errorOf} />
      <SelectField
        label={t`The conversation`}
        value={action.conversation}
        options={[
          { value: 'stays', label: t`Stays as it is` },
          { value: 'close', label: t`Is closed` },
          { value: 'snooze', label: t`Is snoozed` },
        ]}
        onChange={({ target }) => change({ conversation: target.value as ActionDraft['conversation'] })}
      />
      {action.conversation === 'snooze' && (
        <SpanFields
          legend={t`For how long`}
          value={action.snooze}
          onChange={(span) => change({ snooze: { ...action.snooze, ...span } })}
          errorOf={(unit) => errorOf(`snooze.${unit}`)}
          error={errorOf('snooze')}
        />
      )}
      <label className="flex items-center gap-2">
        <input
          type="checkbox"
          className="size-4 shrink-0 accent-accent"
          checked={action.notify}
          onChange={({ target }) => change({ notify: target.checked })}
        />
        <Trans>Send an email to whoever the contact belongs to</Trans>
      </label>
      <DoFields step={action} onChange={onChange} errorOf={errorOf} error={error} />
    </>
  );
}

/** What the contact is sent. */
function ReplyFields({
  action,
  change,
  errorOf,
}: {
  action: ActionDraft;
  change: (next: Partial<ActionDraft>) => void;
  errorOf: (field: string) => string | undefined;
}) {
  const { t } = useLingui();
  const snippets =
    useRead('GET /api/snippets', { query: { limit: 200 } }, { enabled: action.reply === 'snippet' }).data
      ?.snippets ?? [];
  return (
    <>
      <SelectField
        label={t`Text to the contact`}
        value={action.reply}
        options={[
          { value: 'none', label: t`None` },
          { value: 'text', label: t`A text` },
          { value: 'snippet', label: t`A snippet` },
        ]}
        onChange={({ target }) => change({ reply: target.value as ActionDraft['reply'] })}
      />
      {action.reply === 'text' && (
        <TextAreaField
          label={t`Text`}
          hint={t`A template, like any message. A contact gets at most one automatic text in 12 hours.`}
          value={action.text}
          onChange={({ target }) => change({ text: target.value })}
          error={errorOf('reply.text')}
        />
      )}
      {action.reply === 'snippet' && (
        <SelectField
          label={t`Snippet`}
          value={action.snippetId}
          options={[
            { value: '', label: t`Choose one` },
            ...snippets.map(({ _id, name }) => ({ value: _id, label: name })),
          ]}
          onChange={({ target }) => change({ snippetId: target.value })}
          error={errorOf('reply.snippetId') ?? errorOf('reply.text')}
        />
      )}
      {action.reply !== 'none' && (
        <label className="flex items-center gap-2">
          <input
            type="checkbox"
            className="size-4 shrink-0 accent-accent"
            checked={action.outsideHoursOnly}
            onChange={({ target }) => change({ outsideHoursOnly: target.checked })}
          />
          <Trans>Only outside the opening hours</Trans>
        </label>
      )}
    </>
  );
}
