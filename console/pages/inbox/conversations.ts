import type { MessageDescriptor } from '@lingui/core';
import { msg } from '@lingui/core/macro';
import type { ResponseOf } from '#console/api/routes.ts';

export type Conversation = ResponseOf<'GET /api/conversations'>['conversations'][number];
export type ThreadItem = ResponseOf<'GET /api/conversations/{address}'>['messages'][number];
export type Draft = ResponseOf<'GET /api/knowledge-base/auto-replies'>['autoReplies'][number];

/** Who the conversation is with. */
export interface Contact {
  address: string;
  name: string;
}

export const isGroup = (address: string): boolean => address.startsWith('group:');

/** What is read to show a conversation: `useReadPages(...threadOf(address))`. */
export const threadOf = (address: string) =>
  ['GET /api/conversations/{address}', { params: { address }, query: { limit: 50 } }] as const;

/** Whom a conversation is with, as a request names it. */
export function recipientOf(address: string) {
  if (isGroup(address)) return { groupId: address.slice('group:'.length) };
  return address.includes('@') ? { email: address } : { phone: address };
}

/** What somebody has done who reacted. */
export const REACTED: Record<ThreadItem['reactions'][number]['reaction'], MessageDescriptor> = {
  love: msg`loved this`,
  like: msg`liked this`,
  dislike: msg`disliked this`,
  laugh: msg`laughed at this`,
  emphasize: msg`emphasized this`,
  question: msg`questioned this`,
  emoji: msg`reacted to this`,
  sticker: msg`put a sticker on this`,
};

/** The newest open draft of each conversation. */
export function draftsByAddress(drafts: readonly Draft[]): ReadonlyMap<string, Draft> {
  return new Map(drafts.toReversed().map((draft) => [draft.conversationRecipient, draft]));
}

/** Drafts to contacts who are not among the conversations, as conversations in which nobody has written. */
export function draftedOnly(
  drafts: ReadonlyMap<string, Draft>,
  conversations: readonly Conversation[],
): Conversation[] {
  const listed = new Set(conversations.map(({ address }) => address));
  return [...drafts.values()]
    .filter(
      ({ answeredReplyId, conversationRecipient: address }) =>
        answeredReplyId === null && !listed.has(address),
    )
    .map(({ conversationRecipient: address, leadId }) => ({
      address,
      phone: address.includes('@') ? null : address,
      email: address.includes('@') ? address : null,
      leadId,
      name: address,
      group: null,
      lineId: null,
      tags: [],
      optedOut: false,
      lastMessage: '',
      lastDirection: null,
      lastAt: null,
      lastUnsentAt: null,
      lastInboundAt: null,
      lastOutboundAt: null,
      inboxHref: '',
      status: 'open',
      snoozedUntil: null,
      assigneeId: null,
      unread: false,
      unreadCount: 0,
    }));
}

/** What is read again after anything has happened in a conversation. */
export const REFRESH = [
  'GET /api/conversations',
  'GET /api/conversations/counts',
  'GET /api/attention',
  'GET /api/conversations/{address}',
  'GET /api/knowledge-base/auto-replies',
  'GET /api/opt-outs/suspected',
] as const;
