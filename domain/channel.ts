import { z } from 'zod';

/** The channels a line can send on (specification §1). SMS lines count as phone lines. */
export const CHANNELS = ['imessage', 'sms', 'email'] as const;
export const Channel = z.enum(CHANNELS);
export type Channel = z.infer<typeof Channel>;

export const isPhoneChannel = (channel: Channel): boolean => channel !== 'email';
