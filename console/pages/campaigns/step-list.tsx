import { Trans, useLingui } from '@lingui/react/macro';
import type { ReactNode } from 'react';
import { Badge } from '#console/components/badge.tsx';
import { listOf } from '#console/lib/format.ts';
import { allSteps } from '#console/lib/step-places.ts';
import { type AnyStep, type Campaign, isMessage, kindText, type Step } from './campaign.ts';
import { conditionText } from './conditions.ts';
import { stepTexts } from './step-text.ts';

interface Props {
  campaign: Campaign;
  /** What is shown of a message. @param index its number in reading order, from 0 */
  renderMessage: (step: Step, index: number) => ReactNode;
}

/** The steps of a campaign as the tree that they are. */
export const StepList = ({ campaign, renderMessage }: Props) => (
  <List steps={campaign.steps} all={allSteps(campaign.steps)} renderMessage={renderMessage} />
);

function List({
  steps,
  all,
  renderMessage,
}: {
  steps: readonly AnyStep[];
  all: readonly AnyStep[];
  renderMessage: Props['renderMessage'];
}) {
  const { t } = useLingui();
  return (
    <ol className="flex flex-col gap-3">
      {steps.map((step) => {
        const index = all.indexOf(step);
        const number = index + 1;
        return (
          <li key={index} className="rounded-lg border border-line bg-surface p-3">
            {isMessage(step) ? (
              renderMessage(step, index)
            ) : (
              <>
                <p className="flex flex-wrap items-center gap-2">
                  <span className="font-medium">{t`Step ${number}`}</span>
                  <Badge>{kindText(step.kind)}</Badge>
                </p>
                {stepTexts(step).map((text) => (
                  <p key={text} className="mt-2">
                    {text}
                  </p>
                ))}
              </>
            )}
            {step.kind === 'branch' && (
              <ul className="mt-3 flex flex-col gap-3">
                {[
                  ...step.branches.map(({ name, when, steps: inner }) => ({
                    name,
                    when: listOf(when.map(conditionText)),
                    inner,
                  })),
                  { name: t`Otherwise`, when: '', inner: step.else },
                ].map(({ name, when, inner }, branch) => (
                  <li key={branch} className="border-l-2 border-line pl-3">
                    <p className="mb-2 font-medium wrap-anywhere">
                      {name}
                      {when !== '' && <span className="font-normal text-muted"> · {when}</span>}
                    </p>
                    {inner.length === 0 ? (
                      <p className="text-muted">
                        <Trans>Goes on after the branches.</Trans>
                      </p>
                    ) : (
                      <List steps={inner} all={all} renderMessage={renderMessage} />
                    )}
                  </li>
                ))}
              </ul>
            )}
          </li>
        );
      })}
    </ol>
  );
}
