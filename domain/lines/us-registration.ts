import { z } from 'zod';

/** Whether a number of the United States that was bought for a line is registered for business messages (A2P 10DLC). */
export const UsRegistration = z.enum(['registered', 'unregistered']).meta({
  description:
    'For a number of the United States that the installation bought: whether it is in a campaign that is registered for business messages (A2P 10DLC). US carriers filter SMS from unregistered numbers, so messages to the United States are likely to fail. Absent for other lines.',
});
export type UsRegistration = z.infer<typeof UsRegistration>;

/** @param config of the carrier, which says so for numbers that it bought. */
export const usRegistrationOf = (config: Record<string, unknown>): UsRegistration | null =>
  UsRegistration.safeParse(config['usRegistration']).data ?? null;
