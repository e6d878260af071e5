import { Trans, useLingui } from '@lingui/react/macro';
import type { ReactNode } from 'react';
import { Button } from './button.tsx';
import { ConfirmButton } from './confirm.tsx';

/**
 * A row of a list that can be edited and deleted.
 * @param edit null: who looks at it may do neither.
 */
export function EditableRow({
  name,
  about,
  actions,
  edit,
  remove,
}: {
  name: string;
  about: ReactNode;
  /** Buttons before the two. */
  actions?: ReactNode;
  edit: (() => void) | null;
  remove: {
    /** The label of the button that confirms. */
    confirm: string;
    /** What becomes of the rest. */
    text: ReactNode;
    busy: boolean;
    run: () => void;
  };
}) {
  const { t } = useLingui();
  return (
    <li className="flex flex-wrap items-center gap-3 px-4 py-3">
      <div className="min-w-0 flex-1 basis-60">
        <p className="font-medium wrap-anywhere">{name}</p>
        <p className="text-xs wrap-anywhere text-muted">{about}</p>
      </div>
      {actions}
      {edit && (
        <>
          <Button small aria-label={t`Edit ${name}`} onClick={edit}>
            <Trans>Edit</Trans>
          </Button>
          <ConfirmButton
            label={t`Delete`}
            title={t`Delete ${name}?`}
            confirm={remove.confirm}
            busy={remove.busy}
            onConfirm={remove.run}
          >
            {remove.text}
          </ConfirmButton>
        </>
      )}
    </li>
  );
}
