import { z } from 'zod';

/** How many leads of a campaign wait for the same thing. */
export const LeadWait = z
  .object({
    reason: z.string().meta({
      description:
        'The same as `waitingFor.reason` of a message, for example `line_paused`. `scheduled`: the messages wait for their time or their turn.',
    }),
    leads: z.int(),
    lines: z.int().meta({ description: 'The number of lines on which the leads wait.' }),
  })
  .meta({ id: 'LeadWait' });
export type LeadWait = z.infer<typeof LeadWait>;

/** For operators: `3 wait: line_paused on 1 line`. Empty if nobody waits. */
export function waitsText(waits: readonly LeadWait[]): string {
  const [first, ...rest] = waits.map(({ reason, leads, lines }) => {
    const where = lines === 0 ? '' : ` on ${lines} line${lines === 1 ? '' : 's'}`;
    return { leads, text: `${reason}${where}` };
  });
  if (!first) return '';
  return [`${first.leads} wait: ${first.text}`, ...rest.map(({ leads, text }) => `${leads}: ${text}`)].join(
    ', ',
  );
}
