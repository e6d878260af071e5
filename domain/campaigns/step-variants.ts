import { z } from 'zod';
import { pseudoRandom } from '../base/pseudo-random.ts';
import { MAX_BODY_LENGTH } from '../messages/message.ts';
import { VARIANT_NAMES, type VariantName } from '../messages/variant-name.ts';

/** The A/B variants of a campaign step: each lead gets one of them. */

const StepVariant = z
  .object({
    body: z.string().max(MAX_BODY_LENGTH).default(''),
    subject: z
      .string()
      .max(500)
      .optional()
      .meta({ description: 'The subject of an email. Default: the `subject` of the step.' }),
    weight: z
      .int()
      .min(1)
      .max(100)
      .default(1)
      .meta({ description: 'Its share of the leads, relative to the weights of the other variants.' }),
  })
  .meta({ id: 'StepVariant' });
type StepVariant = z.output<typeof StepVariant>;

export const StepVariants = z.array(StepVariant).min(2).max(VARIANT_NAMES.length);

/** A text that a step can send. */
export interface StepText {
  /** Null: the step has no variants. */
  variant: VariantName | null;
  weight: number;
  body: string;
  subject: string | null;
  /** Where it is in the step, for errors. */
  path: readonly (string | number)[];
}

interface StepTexts {
  message: string;
  subject?: string | undefined;
  variants?: readonly StepVariant[] | undefined;
}

/** The texts that a step can send: those of its variants, otherwise its message. */
export function textsOf({ message, subject, variants }: StepTexts): StepText[] {
  if (!variants)
    return [{ variant: null, weight: 1, body: message, subject: subject ?? null, path: ['message'] }];
  return variants.map((variant, index) => ({
    variant: VARIANT_NAMES[index] ?? null,
    weight: variant.weight,
    body: variant.body,
    subject: variant.subject ?? subject ?? null,
    path: ['variants', index, 'body'],
  }));
}

/**
 * The variant of a step that a lead gets, in proportion to the weights; null if the step has none. The same for the same
 * campaign, step and lead, whatever happens between two calls, and independent of what the lead gets in other steps.
 */
export function variantFor(
  { variants }: Pick<StepTexts, 'variants'>,
  { campaignId, stepIndex, leadId }: { campaignId: string; stepIndex: number; leadId: string },
): VariantName | null {
  if (!variants) return null;
  const total = variants.reduce((sum, { weight }) => sum + weight, 0);
  let rest = pseudoRandom(`${campaignId} step ${stepIndex} lead ${leadId}`) * total;
  const index = variants.findIndex(({ weight }) => (rest -= weight) < 0);
  return VARIANT_NAMES[index] ?? null;
}
