import { z } from 'zod';
import { type CampaignStep, messageSteps } from './step.ts';
import { Id } from '../base/ids.ts';
import { textsOf } from './step-variants.ts';
import { fieldsRead } from '../messages/template-fields.ts';
import { TemplateBudget } from '../messages/template.ts';

/** What a start would do to a campaign that has not started. */
export const CampaignCheck = z
  .object({
    leads: z.int().meta({ description: 'Leads who would get the first step.' }),
    messages: z.int().meta({ description: 'Messages, if nobody replies.' }),
    firstAt: z.iso
      .datetime()
      .nullable()
      .meta({ description: 'When the first message may leave; null: nobody gets one.' }),
    lastAt: z.iso.datetime().nullable().meta({
      description: 'When the last message leaves by the forecast; null: none, or in over three years.',
    }),
    lines: z.array(Id).meta({
      description:
        'The lines that send it to new contacts: iMessage lines send SMS steps only if there is no SMS line.',
    }),
    unreachable: z.int().meta({ description: 'Leads without an address for the first step.' }),
    optedOut: z.int(),
    suppressed: z.int().meta({ description: 'Leads whose address the agency has suppressed.' }),
    withoutConsent: z.int().meta({
      description: 'Other leads whose last entry is not a consent. With `requireConsent`, they get nothing.',
    }),
    inQuietHours: z
      .int()
      .meta({ description: 'Leads whose first step the quiet hours or the send window postpone.' }),
    emptyFields: z.record(z.string(), z.int()).meta({
      description: 'The fields that the steps read and some leads do not have, with how many.',
      example: { firstName: 3, 'customFields.city': 12 },
    }),
  })
  .meta({ id: 'CampaignCheck' });
export type CampaignCheck = z.infer<typeof CampaignCheck>;

/** The fields of leads that any text of a campaign reads. */
export function fieldsOfSteps(steps: readonly CampaignStep[]): string[] {
  const budget = new TemplateBudget();
  const texts = messageSteps(steps).flatMap(({ step }) => [
    ...textsOf(step).flatMap(({ body, subject }) => [body, subject ?? '']),
    step.smsFallbackMessage ?? '',
  ]);
  return [...new Set(texts.flatMap((text) => fieldsRead(text, budget)))].toSorted();
}
