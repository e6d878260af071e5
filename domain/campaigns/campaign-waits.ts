import { z } from 'zod';

/** How many leads of a campaign wait for the same thing. */
export const LeadWait = z
  .object({
    reason: z.string().meta({
      description:
        'The same as `waitingFor.reason` of a message, for example `line_paused`. `scheduled`: the messages wait for their time or their turn. `campaign_step`: the leads wait at a step of the campaign.',
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

/** The maximum age of the progress that operators see of a campaign that sends. */
const SENDING_LOOK_MS = 5 * 60_000;
/** For the rest, a look a day is enough: the daily digest. */
const WAITING_LOOK_MS = 12 * 3_600_000;

/**
 * When a campaign looks at its progress again, unless a signal comes before: soon while it sends, otherwise when the next message is due.
 * @param nextDueAt when the first message that waits for its time is due; null: none does.
 */
export function nextLookAt(
  { isSending, nextDueAt }: { isSending: boolean; nextDueAt: Date | null },
  now: Date,
): Date {
  const soon = now.getTime() + SENDING_LOOK_MS;
  const late = now.getTime() + WAITING_LOOK_MS;
  return new Date(isSending ? soon : Math.max(soon, Math.min(late, nextDueAt?.getTime() ?? late)));
}
