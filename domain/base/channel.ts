import { z } from 'zod';

/** The channels a line can send on. SMS lines count as phone lines. */
export const CHANNELS = ['imessage', 'sms', 'email'] as const;
export const Channel = z.enum(CHANNELS);
export type Channel = z.infer<typeof Channel>;

export const isPhoneChannel = (channel: Channel): boolean => channel !== 'email';

/** The channel of a message whose request names none. */
export const DEFAULT_CHANNEL: Channel = 'imessage';

/** The channels of lines that can send a message, in order of preference. An iMessage line can also send SMS. */
export const CARRYING_CHANNELS: Record<Channel, readonly Channel[]> = {
  imessage: ['imessage'],
  sms: ['sms', 'imessage'],
  email: ['email'],
};
