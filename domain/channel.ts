import { z } from 'zod';

/** The channels a line can send on. SMS lines count as phone lines. */
export const CHANNELS = ['imessage', 'sms', 'email'] as const;
export const Channel = z.enum(CHANNELS);
export type Channel = z.infer<typeof Channel>;

export const isPhoneChannel = (channel: Channel): boolean => channel !== 'email';
