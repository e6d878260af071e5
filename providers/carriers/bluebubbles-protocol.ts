import { z } from 'zod';
import { firstOf } from '#domain/bounded-schema.ts';
import { MAX_FILES } from '#domain/carrier-event.ts';
import { Explanation } from './http-response.ts';

/** A message is in one conversation, except while systems are migrated. */
const MAX_CHATS = 20;

/** The fields of the BlueBubbles server's responses and events that are used (server 1.9, REST API v1). */
export const BlueBubblesMessage = z.object({
  guid: z.string().min(1),
  tempGuid: z.string().nullish(),
  text: z.string().nullish(),
  error: z.number().nullish(),
  isFromMe: z.boolean().default(false),
  isDelivered: z.boolean().nullish(),
  itemType: z.number().default(0),
  /** Milliseconds. */
  dateCreated: z.number().nullish(),
  dateDelivered: z.number().nullish(),
  dateRead: z.number().nullish(),
  associatedMessageGuid: z.string().nullish(),
  associatedMessageType: z.union([z.string(), z.number()]).nullish(),
  threadOriginatorGuid: z.string().nullish(),
  handle: z.object({ address: z.string() }).nullish(),
  chats: firstOf(z.object({ guid: z.string() }), MAX_CHATS).nullish(),
  attachments: firstOf(
    z.object({ guid: z.string(), mimeType: z.string().nullish(), transferName: z.string().nullish() }),
    MAX_FILES,
  ).nullish(),
});
export type BlueBubblesMessage = z.infer<typeof BlueBubblesMessage>;

export const envelope = <T extends z.ZodType>(data: T) => z.object({ data });

export const ErrorResponse = z.object({
  message: Explanation.nullish(),
  error: z.object({ type: z.string().nullish(), message: Explanation.nullish() }).nullish(),
  data: BlueBubblesMessage.nullish().catch(null),
});

/** Apple's codes in a message's `error`. */
export const NOT_REGISTERED = 22;
export const TIMED_OUT = 4;

/** `iMessage;-;+14155550123` or `SMS;-;…`. Newer systems also use `any;-;…` for the same conversation. */
export const chatGuid = (channel: string, address: string): string =>
  `${channel === 'sms' ? 'SMS' : 'iMessage'};-;${address}`;

/** Whether a message belongs to the conversation with an address, under any of its GUIDs. */
export function isChatWith(message: BlueBubblesMessage, address: string): boolean {
  const wanted = address.toLowerCase();
  if (message.handle?.address.toLowerCase() === wanted) return true;
  return (message.chats ?? []).some(({ guid }) => guid.split(';').at(-1)?.toLowerCase() === wanted);
}

/** GUIDs of group conversations contain `;+;`. */
export const isGroupMessage = (message: BlueBubblesMessage): boolean =>
  (message.chats ?? []).some(({ guid }) => guid.includes(';+;'));
