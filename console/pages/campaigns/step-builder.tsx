import { t } from '@lingui/core/macro';
import { Trans, useLingui } from '@lingui/react/macro';
import { ArrowDown, ArrowUp, Plus, Trash2 } from 'lucide-react';
import { type ComponentProps, type ReactElement, type ReactNode, useEffect, useRef, useState } from 'react';
import { Button, IconButton } from '#console/components/button.tsx';
import { SelectField, TextField } from '#console/components/field.tsx';
import { Menu } from '#console/components/menu.tsx';
import { kindText } from './campaign.ts';
import { ConditionFields } from './condition-fields.tsx';
import type { Condition } from './conditions.ts';
import { DoFields, WebhookField } from './do-fields.tsx';
import { SpanFields } from './span-fields.tsx';
import { type BranchDraft, NEW_BRANCH, newStep, NO_TIME, type StepDraft } from './step-draft.ts';
import { StepFields } from './step-fields.tsx';
import {
  appendIn,
  channelBefore,
  comesAfterWait,
  flatSteps,
  insertAfter,
  moveStep,
  removeStep,
  updateStep,
} from './step-tree.ts';

type Steps = readonly StepDraft[];
const KINDS = ['message', 'wait', 'wait_until', 'branch', 'do', 'end'] as const;
const MOST_BRANCHES = 5;

interface Builder {
  steps: Steps;
  listId: string;
  /** Nobody has chosen what a reply does: it depends on whether a step asks about it. */
  isReplyOpen: boolean;
  change: (update: (steps: Steps) => Steps) => void;
  onBusy: (busy: boolean) => void;
  /** The error of a field, by its path from the campaign. */
  errorOf: (path: string) => string | undefined;
  numberOf: (step: StepDraft) => number;
  /** Adds a step in a place. @returns its key */
  add: (kind: StepDraft['kind'], place: (steps: Steps, step: StepDraft) => Steps) => string;
  move: (step: StepDraft, by: 1 | -1) => void;
  remove: (step: StepDraft) => void;
}

interface Focus {
  key: string;
  on: 'fields' | 'up' | 'down';
}

const elementOf = ({ key, on }: Focus): HTMLElement | null => {
  const find = (what: string) => document.querySelector<HTMLElement>(`[data-step="${key}"] ${what}`);
  return (
    (on === 'fields' ? find(':is(select, input, textarea)') : null) ??
    find(`[data-on=${on === 'down' ? 'down' : 'up'}]`)
  );
};

const branchName = (number: number): string => t`Branch ${number}`;

const replyNote = ({ field }: Condition): string | undefined =>
  field === 'replied' ? t`A reply no longer stops the campaign, because this step asks about it.` : undefined;

/** The steps of a campaign as a tree that can be changed. */
export function StepBuilder({
  steps,
  ...given
}: Pick<Builder, 'listId' | 'isReplyOpen' | 'change' | 'onBusy' | 'errorOf'> & { steps: Steps }) {
  const { t } = useLingui();
  const [focused, focus] = useState<Focus>();
  useEffect(() => {
    if (focused) elementOf(focused)?.focus();
  }, [focused]);
  const all = flatSteps(steps);
  const builder: Builder = {
    ...given,
    steps,
    numberOf: (step) => all.indexOf(step) + 1,
    add(kind, place) {
      const added = newStep(kind, branchName(1));
      given.change((current) => {
        const placed = place(current, added);
        if (added.kind !== 'message') return placed;
        return updateStep(placed, added.key, () => ({
          ...added,
          messageType: channelBefore(placed, added.key) ?? added.messageType,
          ...(comesAfterWait(placed, added.key) && NO_TIME),
        }));
      });
      return added.key;
    },
    move({ key }, by) {
      focus({ key, on: by === 1 ? 'down' : 'up' });
      given.change((current) => moveStep(current, key, by));
    },
    remove(step) {
      const left = flatSteps(removeStep(steps, step.key));
      const beside = left[Math.max(0, all.indexOf(step) - 1)];
      if (beside) focus({ key: beside.key, on: 'up' });
      given.change((current) => removeStep(current, step.key));
    },
  };
  return (
    <fieldset className="flex flex-col gap-3">
      <legend className="mb-2 font-medium">
        <Trans>Steps</Trans>
      </legend>
      <List steps={steps} path="steps" builder={builder} />
      <AddMenu
        trigger={<AddButton>{t`Add a step`}</AddButton>}
        onAdd={(kind) => builder.add(kind, (current, added) => [...current, added])}
      />
    </fieldset>
  );
}

const List = ({ steps, path, builder }: { steps: Steps; path: string; builder: Builder }) => (
  <ol className="flex flex-col gap-3">
    {steps.map((step, index) => (
      <Item key={step.key} step={step} path={`${path}.${index}`} builder={builder} />
    ))}
  </ol>
);

/** A menu of the kinds of steps. The step that is added gets the focus. */
function AddMenu({
  trigger,
  onAdd,
}: {
  trigger: ReactElement;
  /** @returns the key of the step */
  onAdd: (kind: StepDraft['kind']) => string;
}) {
  const { t } = useLingui();
  const wrapper = useRef<HTMLDivElement>(null);
  const added = useRef('');
  const focusAfter = {
    get current() {
      return (
        elementOf({ key: added.current, on: 'fields' }) ?? wrapper.current?.querySelector('button') ?? null
      );
    },
  };
  return (
    <div
      ref={wrapper}
      onClickCapture={() => {
        added.current = '';
      }}
    >
      <Menu
        trigger={trigger}
        focusAfter={focusAfter}
        groups={[
          {
            title: t`What it does`,
            items: KINDS.map((kind) => ({
              label: kindText(kind),
              onSelect: () => {
                added.current = onAdd(kind);
              },
            })),
          },
        ]}
      />
    </div>
  );
}

const AddButton = ({ children, ...rest }: ComponentProps<'button'>) => (
  <Button small icon={<Plus className="size-4" aria-hidden="true" />} {...rest}>
    {children}
  </Button>
);

/** One step, with what moves and removes it. */
function Item({ step, path, builder }: { step: StepDraft; path: string; builder: Builder }) {
  const { t } = useLingui();
  const { key, kind } = step;
  const number = builder.numberOf(step);
  const isOnly = flatSteps(builder.steps).length === 1;
  return (
    <li>
      <section
        data-step={key}
        aria-label={t`Step ${number}`}
        className="rounded-lg border border-line bg-surface p-3"
      >
        <div className="mb-3 flex flex-wrap items-center gap-1">
          <h2 className="min-w-0 flex-1 basis-40 font-medium">
            <Trans>Step {number}</Trans>
            <span className="font-normal text-muted"> · {kindText(kind)}</span>
          </h2>
          <IconButton data-on="up" label={t`Move step ${number} up`} onClick={() => builder.move(step, -1)}>
            <ArrowUp className="size-4" aria-hidden="true" />
          </IconButton>
          <IconButton
            data-on="down"
            label={t`Move step ${number} down`}
            onClick={() => builder.move(step, 1)}
          >
            <ArrowDown className="size-4" aria-hidden="true" />
          </IconButton>
          <AddMenu
            trigger={
              <IconButton label={t`Insert a step after step ${number}`}>
                <Plus className="size-4" aria-hidden="true" />
              </IconButton>
            }
            onAdd={(added) => builder.add(added, (steps, one) => insertAfter(steps, key, one))}
          />
          {!isOnly && (
            <IconButton label={t`Remove step ${number}`} onClick={() => builder.remove(step)}>
              <Trash2 className="size-4" aria-hidden="true" />
            </IconButton>
          )}
        </div>
        <Fields step={step} path={path} builder={builder} />
      </section>
    </li>
  );
}

function Fields({ step, path, builder }: { step: StepDraft; path: string; builder: Builder }): ReactNode {
  const { t } = useLingui();
  const update = (next: StepDraft): void =>
    builder.change((steps) => updateStep(steps, step.key, () => next));
  const errorOf = (field: string): string | undefined => builder.errorOf(`${path}.${field}`);
  switch (step.kind) {
    case 'message':
      return (
        <StepFields
          step={step}
          listId={builder.listId}
          index={builder.numberOf(step) - 1}
          onChange={update}
          onFilesChange={(change) =>
            builder.change((steps) =>
              updateStep(steps, step.key, (current) =>
                current.kind === 'message' ? { ...current, files: change(current.files) } : current,
              ),
            )
          }
          onBusy={builder.onBusy}
          errorOf={errorOf}
        />
      );
    case 'wait':
      return (
        <SpanFields
          legend={t`How long`}
          value={step}
          onChange={(span) => update({ ...step, ...span })}
          errorOf={(unit) => errorOf(`for.${unit}`)}
          error={errorOf('for')}
        />
      );
    case 'wait_until':
      return (
        <div className="flex flex-col gap-3">
          <p className="text-[0.8125rem] text-muted">
            <Trans>The contact continues as soon as one of these holds:</Trans>
          </p>
          <ConditionFields
            conditions={step.any}
            joined="any"
            onChange={(any) => update({ ...step, any })}
            noteOf={builder.isReplyOpen ? replyNote : undefined}
            errorOf={(field) => errorOf(`any.${field}`)}
          />
          <SpanFields
            legend={t`At most`}
            value={step}
            onChange={(span) => update({ ...step, ...span })}
            errorOf={(unit) => errorOf(`atMost.${unit}`)}
            error={errorOf('atMost')}
          />
          <SelectField
            label={t`If nothing happens`}
            value={step.else}
            options={[
              { value: 'continue', label: t`Continue with the next step` },
              { value: 'end', label: t`End the campaign for the contact` },
            ]}
            onChange={({ target }) => update({ ...step, else: target.value === 'end' ? 'end' : 'continue' })}
          />
          {step.else === 'continue' && step.any.some(({ op }) => op === 'lt_date' || op === 'gt_date') && (
            <p className="text-warn">
              <Trans>After this time the next step follows, also if the date has not come.</Trans>
            </p>
          )}
        </div>
      );
    case 'branch':
      return <Branches step={step} path={path} builder={builder} update={update} />;
    case 'do':
      return (
        <div className="flex flex-col gap-3">
          <WebhookField
            value={step.webhook}
            onChange={(webhook) => update({ ...step, webhook })}
            error={errorOf('webhook')}
          />
          <DoFields step={step} onChange={update} errorOf={errorOf} error={builder.errorOf(path)} />
        </div>
      );
    case 'end':
      return (
        <p className="text-muted">
          <Trans>The campaign ends here for the contact.</Trans>
        </p>
      );
  }
}

/** The branches of a step, of which the first that holds is taken. */
function Branches({
  step,
  path,
  builder,
  update,
}: {
  step: BranchDraft;
  path: string;
  builder: Builder;
  update: (step: BranchDraft) => void;
}) {
  const { t } = useLingui();
  const { branches } = step;
  return (
    <div className="flex flex-col gap-4">
      {builder.errorOf(`${path}.branches`) && (
        <p className="text-bad">{builder.errorOf(`${path}.branches`)}</p>
      )}
      {branches.map((branch, index) => {
        const number = index + 1;
        const change = (next: Partial<typeof branch>): void =>
          update({ ...step, branches: branches.with(index, { ...branch, ...next }) });
        return (
          <div
            key={branch.key}
            role="group"
            aria-label={t`Branch ${number}`}
            className="flex flex-col gap-3 border-l-2 border-accent pl-3"
          >
            <div className="flex items-end gap-2">
              <div className="min-w-0 flex-1">
                <TextField
                  label={t`Name of branch ${number}`}
                  value={branch.name}
                  onChange={({ target }) => change({ name: target.value })}
                  error={builder.errorOf(`${path}.branches.${index}.name`)}
                />
              </div>
              {branches.length > 1 && (
                <IconButton
                  label={t`Remove branch ${number} with its steps`}
                  onClick={() => update({ ...step, branches: branches.toSpliced(index, 1) })}
                >
                  <Trash2 className="size-4" aria-hidden="true" />
                </IconButton>
              )}
            </div>
            <p className="text-[0.8125rem] text-muted">
              <Trans>For contacts for whom all of these hold:</Trans>
            </p>
            <ConditionFields
              conditions={branch.when}
              joined="all"
              onChange={(when) => change({ when })}
              noteOf={builder.isReplyOpen ? replyNote : undefined}
              errorOf={(field) => builder.errorOf(`${path}.branches.${index}.when.${field}`)}
            />
            <List steps={branch.steps} path={`${path}.branches.${index}.steps`} builder={builder} />
            <AddMenu
              trigger={<AddButton>{t`Add a step to branch ${number}`}</AddButton>}
              onAdd={(kind) => builder.add(kind, (steps, added) => appendIn(steps, step.key, index, added))}
            />
          </div>
        );
      })}
      {branches.length < MOST_BRANCHES && (
        <div>
          <Button
            small
            icon={<Plus className="size-4" aria-hidden="true" />}
            onClick={() =>
              update({ ...step, branches: [...branches, NEW_BRANCH(branchName(branches.length + 1))] })
            }
          >
            <Trans>Add a branch</Trans>
          </Button>
        </div>
      )}
      <div role="group" aria-label={t`Otherwise`} className="flex flex-col gap-3 border-l-2 border-line pl-3">
        <p className="font-medium">
          <Trans>Otherwise</Trans>
        </p>
        <List steps={step.else} path={`${path}.else`} builder={builder} />
        <AddMenu
          trigger={<AddButton>{t`Add a step otherwise`}</AddButton>}
          onAdd={(kind) =>
            builder.add(kind, (steps, added) => appendIn(steps, step.key, branches.length, added))
          }
        />
      </div>
    </div>
  );
}
