import { Trans, useLingui } from '@lingui/react/macro';
import { useState } from 'react';
import { useWrite } from '#console/api/queries.ts';
import type { ResponseOf } from '#console/api/routes.ts';
import { issueOf, TextField } from '#console/components/field.tsx';
import { FormDialog } from '#console/components/form-dialog.tsx';
import { toast } from '#console/components/toast.tsx';
import { ConditionFields } from './condition-fields.tsx';
import { type Condition, withField } from './conditions.ts';
import { conditionPaths } from './step-paths.ts';

export type Segment = ResponseOf<'GET /api/segments'>['segments'][number];

const OPTIONS = { refresh: ['GET /api/segments', 'GET /api/segments/{id}/leads'] } as const;

/** Creates a segment, or changes the one given. */
export function SegmentForm({ segment, close }: { segment: Segment | null; close: () => void }) {
  const { t } = useLingui();
  const [name, setName] = useState(segment?.name ?? '');
  const [when, setWhen] = useState<readonly Condition[]>(segment?.when ?? [withField('tag')]);
  const create = useWrite('POST /api/segments', OPTIONS);
  const update = useWrite('PATCH /api/segments/{id}', OPTIONS);
  const error = create.error ?? update.error;
  const submit = (): void => {
    const body = { name, when: [...when] };
    const callbacks = {
      onSuccess: () => toast(segment ? t`The segment was changed` : t`The segment was created`),
      afterRefetch: close,
    };
    if (segment) update.mutate({ params: { id: segment._id }, body }, callbacks);
    else create.mutate({ body }, callbacks);
  };
  return (
    <FormDialog
      open
      onClose={close}
      title={segment ? t`Edit the segment` : t`New segment`}
      submit={segment ? t`Save` : t`Create`}
      busy={create.isPending || update.isPending}
      noValidate
      error={error}
      fields={['name', ...conditionPaths('when', when)]}
      onSubmit={submit}
    >
      <TextField
        label={t`Name`}
        value={name}
        onChange={(event) => setName(event.target.value)}
        error={issueOf(error, 'name')}
      />
      <fieldset className="flex flex-col gap-2">
        <legend className="mb-2 font-medium">
          <Trans>Who is in it: all of these hold</Trans>
        </legend>
        <ConditionFields
          conditions={when}
          joined="all"
          onChange={setWhen}
          errorOf={(path) => issueOf(error, `when.${path}`)}
        />
      </fieldset>
    </FormDialog>
  );
}
