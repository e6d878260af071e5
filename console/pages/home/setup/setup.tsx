import type { MessageDescriptor } from '@lingui/core';
import { msg } from '@lingui/core/macro';
import { Trans, useLingui } from '@lingui/react/macro';
import { Check, ChevronDown } from 'lucide-react';
import { type FunctionComponent, useId, useState } from 'react';
import { useWrite } from '#console/api/queries.ts';
import type { ResponseOf } from '#console/api/routes.ts';
import { Badge } from '#console/components/badge.tsx';
import { Button } from '#console/components/button.tsx';
import { classes } from '#console/components/class-names.ts';
import { Card } from '#console/components/page.tsx';
import { toastError } from '#console/components/toast.tsx';
import { useIsAdmin } from '#console/api/workspace.ts';
import { Invite } from '#console/pages/settings/team.tsx';
import { ContactsStep } from './contacts-step.tsx';
import { LineStep } from './line-step.tsx';
import { MessageStep } from './message-step.tsx';
import { ReplyStep } from './reply-step.tsx';
import type { StepProps } from './step-props.ts';
import { WebhookStep } from './webhook-step.tsx';

type SetupState = ResponseOf<'GET /api/workspace/setup'>['setup'];
type Name = SetupState['steps'][number]['step'];

const STEPS: Record<
  Name,
  { title: MessageDescriptor; text: MessageDescriptor; body: FunctionComponent<StepProps>; admin?: boolean }
> = {
  line: {
    title: msg`Connect a line`,
    text: msg`The number or address that messages leave from.`,
    body: LineStep,
    admin: true,
  },
  message: {
    title: msg`Send to yourself`,
    text: msg`A first message, to your own phone or mailbox.`,
    body: MessageStep,
  },
  reply: { title: msg`Receive the reply`, text: msg`Answer it, and see the answer arrive.`, body: ReplyStep },
  webhook: {
    title: msg`Register a webhook`,
    text: msg`Events for a program of yours. Skip it if you have none.`,
    body: WebhookStep,
    admin: true,
  },
  contacts: {
    title: msg`Import contacts`,
    text: msg`A CSV file of the people you write to.`,
    body: ContactsStep,
  },
  team: {
    title: msg`Invite the team`,
    text: msg`Whoever is to read and answer with you.`,
    body: Invite,
    admin: true,
  },
};

/** The first steps of a workspace, each done in place. A step is done when the API says so. */
export default function Setup({ setup: { steps } }: { setup: SetupState }) {
  const { t } = useLingui();
  const isAdmin = useIsAdmin();
  const next = steps.find(({ done }) => !done)?.step ?? null;
  // It stays open once it is done, with what it says, until somebody goes on.
  const [open, setOpen] = useState(next);
  const dismiss = useWrite('PATCH /api/workspace', { refresh: ['GET /api/workspace/setup'] });
  // What has the focus is about to vanish.
  const goOn = (name: Name): void => {
    setOpen(name);
    document.getElementById(headerId(name))?.focus();
  };
  const doneCount = steps.filter((step) => step.done).length;
  const count = steps.length;
  return (
    <Card
      title={
        <span className="flex items-center gap-2">
          <Trans>First steps</Trans> <Badge>{t`${doneCount} of ${count} done`}</Badge>
        </span>
      }
      actions={
        isAdmin && (
          <Button
            kind="ghost"
            small
            busy={dismiss.isPending}
            onClick={() => dismiss.mutate({ body: { setupDismissed: true } }, { onError: toastError })}
          >
            <Trans>Hide</Trans>
          </Button>
        )
      }
    >
      <ol className="divide-y divide-line overflow-hidden rounded-b-xl">
        {steps.map(({ step, done: isDone }, index) => (
          <Step
            key={step}
            name={step}
            number={index + 1}
            done={isDone}
            open={open === step}
            toggle={() => setOpen(open === step ? null : step)}
            goOn={next === null || next === step ? undefined : () => goOn(next)}
            locked={STEPS[step].admin === true && !isAdmin}
          />
        ))}
      </ol>
    </Card>
  );
}

const headerId = (name: Name): string => `first-step-${name}`;

function Step({
  name,
  number,
  done,
  open,
  toggle,
  goOn,
  locked,
}: {
  name: Name;
  number: number;
  done: boolean;
  open: boolean;
  toggle: () => void;
  /** Opens the next step that is not done. */
  goOn: (() => void) | undefined;
  /** Only admins can do it. */
  locked: boolean;
}) {
  const { t } = useLingui();
  const id = useId();
  const { title, text, body: Body } = STEPS[name];
  return (
    <li>
      <h3>
        <button
          type="button"
          id={headerId(name)}
          aria-expanded={open}
          aria-controls={id}
          onClick={toggle}
          className="flex w-full items-center gap-3 px-4 py-3 text-left -outline-offset-2 hover:bg-hover"
        >
          <span
            className={classes(
              'flex size-7 shrink-0 items-center justify-center rounded-full text-xs font-medium',
              done ? 'bg-good-soft text-good' : 'bg-hover text-muted',
            )}
          >
            {done ? <Check className="size-4" aria-hidden="true" /> : number}
          </span>
          <span className="min-w-0 flex-1">
            <span className="block font-medium">
              {t(title)}
              {done && (
                <span className="sr-only">
                  <Trans>, done</Trans>
                </span>
              )}
            </span>
            <span className="block text-muted">{t(text)}</span>
          </span>
          <ChevronDown
            className={classes('size-4 shrink-0 text-muted', open && 'rotate-180')}
            aria-hidden="true"
          />
        </button>
      </h3>
      <div id={id} hidden={!open}>
        {open && (
          <div className={classes('pb-4', name !== 'team' && 'px-4 pt-1 sm:pl-14')}>
            {locked ? (
              <p className="text-muted">
                <Trans>An owner or admin of the workspace does this.</Trans>
              </p>
            ) : (
              <Body done={done} />
            )}
            {done && goOn && (
              <div className={classes('mt-4', name === 'team' && 'px-4')}>
                <Button kind="primary" onClick={goOn}>
                  <Trans>Continue</Trans>
                </Button>
              </div>
            )}
          </div>
        )}
      </div>
    </li>
  );
}
