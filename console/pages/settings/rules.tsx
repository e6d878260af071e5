import { t } from '@lingui/core/macro';
import { Trans, useLingui } from '@lingui/react/macro';
import { Plus, Workflow } from 'lucide-react';
import { useState } from 'react';
import { useRead, useWrite } from '#console/api/queries.ts';
import { useIsAdmin } from '#console/api/workspace.ts';
import { Button } from '#console/components/button.tsx';
import { EditableRow } from '#console/components/editable-row.tsx';
import { NearLimit } from '#console/components/near-limit.tsx';
import { Card } from '#console/components/page.tsx';
import { EmptyState, ErrorState, SkeletonRows } from '#console/components/states.tsx';
import { toast, toastError } from '#console/components/toast.tsx';
import { listOf } from '#console/lib/format.ts';
import { conditionText } from '#console/pages/campaigns/conditions.ts';
import { OpeningHours } from './opening-hours.tsx';
import { deedsText, type Rule, triggerText } from './rule-draft.ts';
import { RuleForm } from './rule-form.tsx';

/** What is done by itself when something happens with a contact, and when somebody is there. */
export default function Rules() {
  const { t } = useLingui();
  const isAdmin = useIsAdmin();
  const rules = useRead('GET /api/rules', {});
  const [editing, edit] = useState<Rule | 'new' | null>(null);
  const known = rules.data?.rules;
  const create = isAdmin && (
    <Button
      small
      kind="primary"
      icon={<Plus className="size-4" aria-hidden="true" />}
      onClick={() => edit('new')}
    >
      <Trans>New rule</Trans>
    </Button>
  );
  return (
    <div className="flex flex-col gap-4">
      <Card title={t`Rules`} actions={create}>
        <NearLimit limit="rules" />
        {rules.error && !known ? (
          <ErrorState error={rules.error} retry={() => void rules.refetch()} />
        ) : !known ? (
          <SkeletonRows rows={3} />
        ) : known.length === 0 ? (
          <EmptyState icon={<Workflow className="size-5" aria-hidden="true" />} title={t`No rules yet`}>
            <Trans>
              A rule tags, assigns, answers or closes by itself, for example when a call is missed or nobody
              has answered for an hour.
            </Trans>
          </EmptyState>
        ) : (
          <ol aria-label={t`Rules, in the order in which they are done`} className="divide-y divide-line">
            {known.map((rule) => (
              <Row key={rule._id} rule={rule} edit={isAdmin ? () => edit(rule) : null} />
            ))}
          </ol>
        )}
        {editing !== null && <RuleForm rule={editing === 'new' ? null : editing} close={() => edit(null)} />}
      </Card>
      <OpeningHours />
    </div>
  );
}

const sentenceOf = ({ when, do: actions, ...rule }: Rule): string => {
  const conditions = listOf(when.map(conditionText));
  const trigger = triggerText(rule);
  const deeds = listOf(deedsText(actions));
  return conditions === '' ? t`${trigger} → ${deeds}` : t`${trigger}, if ${conditions} → ${deeds}`;
};

function Row({ rule, edit }: { rule: Rule; edit: (() => void) | null }) {
  const { t } = useLingui();
  const { _id, name } = rule;
  const remove = useWrite('DELETE /api/rules/{id}', { refresh: ['GET /api/rules'] });
  return (
    <EditableRow
      name={name}
      about={sentenceOf(rule)}
      edit={edit}
      remove={{
        confirm: t`Delete the rule`,
        text: t`What it has done stays.`,
        busy: remove.isPending,
        run: () =>
          remove.mutate(
            { params: { id: _id } },
            { onSuccess: () => toast(t`The rule was deleted`), onError: toastError },
          ),
      }}
    />
  );
}
