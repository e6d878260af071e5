import { CHECKED, type QuietUntil, type Warning, warningsOf } from '../messages/warnings.ts';
import { textsOf } from './step-variants.ts';
import { type CampaignStep, isMessageStep, messageSteps } from './step.ts';

/** How many messages a contact may have got before a step, by the shortest and the longest way to it. */
interface Before {
  least: number;
  most: number;
}

/** Adds what comes before each message, in reading order. @returns what comes before the step after the last; null: no way leads there. */
function countBefore(steps: readonly CampaignStep[], start: Before, found: Before[]): Before | null {
  let at = start;
  let isOver = false;
  for (const step of steps)
    if (isMessageStep(step)) {
      found.push(at);
      at = { least: at.least + 1, most: at.most + 1 };
    } else if (step.kind === 'end') isOver = true;
    else if (step.kind === 'branch') {
      const from = at;
      const ways = [...step.branches.map((branch) => branch.steps), step.else].flatMap(
        (inner) => countBefore(inner, from, found) ?? [],
      );
      if (ways.length === 0) isOver = true;
      else
        at = {
          least: Math.min(...ways.map(({ least }) => least)),
          most: Math.max(...ways.map(({ most }) => most)),
        };
    }
  return isOver ? null : at;
}

/**
 * The steps of a campaign as messages, for a contact who never answers.
 * @param quiet until when quiet hours postpone its first step, by the clock of its zone.
 */
export function campaignWarnings(
  steps: readonly CampaignStep[],
  quiet: QuietUntil | null,
  customFields: readonly string[],
): Warning[] {
  const before: Before[] = [];
  countBefore(steps, { least: 0, most: 0 }, before);
  const found = messageSteps(steps).flatMap(({ step, index: place }, index) =>
    textsOf(step).flatMap(({ variant, subject, body: text }) =>
      warningsOf({
        channel: step.messageType,
        text,
        files: step.attachmentUrls.length,
        fallbackText: step.smsFallbackMessage,
        isFirst: before[index]?.least === 0,
        unanswered: before[index]?.most ?? null,
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
