import type { Channel } from '../base/channel.ts';
import { CHECKED, type QuietUntil, type Warning, warningsOf } from '../messages/warnings.ts';
import { type StepVariant, textsOf } from './step-variants.ts';

/**
 * The steps of a campaign as messages, for a contact who never answers.
 * @param quiet until when quiet hours postpone its first step, by the clock of its zone.
 */
export function campaignWarnings(
  steps: readonly {
    index: number;
    step: {
      message: string;
      variants?: readonly StepVariant[] | undefined;
      messageType: Channel;
      attachmentUrls: readonly string[];
      smsFallbackMessage?: string | undefined;
    };
  }[],
  quiet: QuietUntil | null,
  customFields: readonly string[],
): Warning[] {
  const found = steps.flatMap(({ step, index: place }, index) =>
    textsOf(step).flatMap(({ variant, subject, body: text }) =>
      warningsOf({
        channel: step.messageType,
        text,
        files: step.attachmentUrls.length,
        fallbackText: step.smsFallbackMessage,
        isFirst: index === 0,
        unanswered: index,
        quietUntil: index === 0 ? quiet : null,
        subject,
        customFields,
      }).map((warning) => ({
        ...warning,
        text: `Step ${place + 1}${variant === null ? '' : ` ${variant}`}: ${warning.text}`,
      })),
    ),
  );
  // The first of each kind, but the last step for many unanswered messages.
  const fields = found.filter(({ code }) => code === 'unknown_field');
  const ofSteps = CHECKED.flatMap((code) => {
    const ofCode = found.filter((warning) => warning.code === code);
    const one = code === 'many_unanswered' ? ofCode.at(-1) : ofCode[0];
    return one ? [one] : [];
  });
  const names = fields.map(({ name }) => name);
  return [...ofSteps, ...fields.filter(({ name }, index) => names.indexOf(name) === index)];
}
