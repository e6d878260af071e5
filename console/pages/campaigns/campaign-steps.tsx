import { Trans } from '@lingui/react/macro';
import { Badge } from '#console/components/badge.tsx';
import { percentOf } from '#console/lib/format.ts';
import { CHANNELS } from '#console/lib/line.ts';
import { type Campaign, type Step, textsOf, whenText } from './campaign.ts';
import { StepList } from './step-list.tsx';

/** What the steps of a campaign are. */
export const Steps = ({ campaign }: { campaign: Campaign }) => (
  <div className="max-w-3xl">
    <StepList
      campaign={campaign}
      renderMessage={(step, index) => <MessageStep step={step} index={index} />}
    />
  </div>
);

const StepName = ({ number }: { number: number }) => (
  <span className="font-medium">
    <Trans>Step {number}</Trans>
  </span>
);

const MessageStep = ({ step, index }: { step: Step; index: number }) => (
  <>
    <div className="flex flex-wrap items-center gap-2">
      <StepName number={index + 1} />
      <Badge>{CHANNELS[step.messageType]}</Badge>
      <span className="text-muted">{whenText(step, index)}</span>
      {step.smsFallbackEnabled && (
        <Badge tone="info">
          <Trans>SMS fallback</Trans>
        </Badge>
      )}
    </div>
    {textsOf(step).map(({ name, subject, text, share }) => (
      <div key={name} className="mt-2">
        {share !== null && (
          <p className="text-xs font-medium text-muted">
            <VariantName name={name} share={share} />
          </p>
        )}
        {subject && <p className="font-medium">{subject}</p>}
        {text !== '' && <p className="wrap-anywhere whitespace-pre-wrap">{text}</p>}
      </div>
    ))}
    {step.attachmentUrls.map((url) => (
      <p key={url} className="mt-2 text-xs wrap-anywhere text-muted">
        {url}
      </p>
    ))}
  </>
);

function VariantName({ name, share }: { name: string; share: number }) {
  const percent = percentOf(share);
  return (
    <Trans>
      Variant {name} · {percent} of the leads
    </Trans>
  );
}
