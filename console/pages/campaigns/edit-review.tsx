import { plural, t } from '@lingui/core/macro';
import { Plural, Trans, useLingui } from '@lingui/react/macro';
import type { ResponseOf } from '#console/api/routes.ts';
import { ConfirmDialog } from '#console/components/confirm.tsx';
import { listOf } from '#console/lib/format.ts';
import { placeOf } from '#console/lib/step-places.ts';
import { type AnyStep } from './campaign.ts';

type DryRun = ResponseOf<'POST /api/campaigns/{id}/dry-run'>;
type Effect = DryRun['steps'][number];

/** An edit of the steps of a campaign that runs, and what it would do. */
export interface Edit {
  found: DryRun;
  before: readonly AnyStep[];
  after: readonly AnyStep[];
}

/** Says whom an edit concerns, before it is saved. */
export function EditReview({ edit, onSave, close }: { edit: Edit; onSave: () => void; close: () => void }) {
  const { t } = useLingui();
  const { running, steps, corrections } = edit.found;
  return (
    <ConfirmDialog
      open
      close={close}
      title={t`Save these changes?`}
      confirm={t`Save the changes`}
      kind="primary"
      onConfirm={onSave}
    >
      <p>
        <Plural
          value={running}
          _0="No lead has steps ahead of it."
          one="# lead has steps ahead of it."
          other="# leads have steps ahead of them."
        />
      </p>
      <ul aria-label={t`Changes`} className="mt-3 flex flex-col gap-3">
        {inOrder(steps, edit).map((effect) => (
          <li key={effect.stepId}>
            <p className="font-medium">{nameOf(effect, edit)}</p>
            {effectTexts(effect).map((text) => (
              <p key={text} className="text-muted">
                {text}
              </p>
            ))}
          </li>
        ))}
      </ul>
      {corrections.length > 0 && (
        <p className="mt-3">
          <Trans>Once it is saved, you can correct the text for those who got the former one.</Trans>
        </p>
      )}
    </ConfirmDialog>
  );
}

const isRemoved = ({ changes }: Effect): boolean => changes.includes('removed');

/** The number of a step in the form; of one that is removed, its number until now. */
const numberIn = (effect: Effect, { before, after }: Edit): number =>
  placeOf(isRemoved(effect) ? before : after, effect.stepId);

const inOrder = (steps: readonly Effect[], edit: Edit): Effect[] =>
  steps.toSorted((one, other) => numberIn(one, edit) - numberIn(other, edit));

function nameOf(effect: Effect, edit: Edit): string {
  const number = numberIn(effect, edit);
  const what = listOf(effect.changes.map(changeName));
  return isRemoved(effect) ? t`Former step ${number}: ${what}` : t`Step ${number}: ${what}`;
}

const changeName = (change: Effect['changes'][number]): string =>
  ({ added: t`new`, removed: t`removed`, moved: t`moved`, changed: t`changed` })[change];

function effectTexts({ changes, waiting, received }: Effect): string[] {
  // Nobody has come to it. What waits under its number belongs to another step.
  if (changes.includes('added')) return [t`It is for leads that have not come past its place.`];
  const ahead = changes.includes('removed')
    ? plural(waiting, {
        one: '# lead that has not got it goes on with the next step.',
        other: '# leads that have not got it go on with the next step.',
      })
    : changes.includes('changed')
      ? plural(waiting, {
          one: '# lead that has not got it gets it as it is now.',
          other: '# leads that have not got it get it as it is now.',
        })
      : plural(waiting, {
          one: '# lead that has not got it gets it in its new place.',
          other: '# leads that have not got it get it in its new place.',
        });
  const behind = plural(received, {
    one: '# lead has got it, and does not get it again.',
    other: '# leads have got it, and do not get it again.',
  });
  if (waiting === 0 && received === 0)
    return [
      changes.includes('removed')
        ? t`Nobody has got it.`
        : t`Nobody has got it. Whoever comes to it gets it as it is now.`,
    ];
  return [waiting > 0 ? ahead : t`Nobody waits for it.`, ...(received > 0 ? [behind] : [])];
}
