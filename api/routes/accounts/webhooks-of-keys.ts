import { z } from 'zod';
import { countWebhooksOfKeys, endWebhooksOfKeys } from '#db/queries/events/webhooks.ts';

/** Whether the webhooks of a key that is revoked end with it. By default they stay, because keys are replaced by hand as well. */
export const EndWebhooks = z.object({
  endWebhooks: z.enum(['true', 'false']).default('false').meta({
    description:
      'true: the webhooks that were registered with the key are deactivated. Use it if the key was stolen.',
  }),
});

/** What is left of a key after it was revoked. */
export const activeWebhooks = z.int().meta({
  description: 'How many webhooks that were registered with the key still deliver events.',
});

/** @returns how many webhooks that were registered with the keys still deliver. */
export async function leaveWebhooks(
  { endWebhooks }: z.infer<typeof EndWebhooks>,
  of: Parameters<typeof countWebhooksOfKeys>[0],
): Promise<number> {
  if (endWebhooks === 'true') await endWebhooksOfKeys(of);
  return countWebhooksOfKeys(of);
}
