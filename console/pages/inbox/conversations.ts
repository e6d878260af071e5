import type { ResponseOf } from '#console/api/routes.ts';

export type Conversation = ResponseOf<'GET /api/conversations'>['conversations'][number];
export type ThreadItem = ResponseOf<'GET /api/conversations/{address}'>['messages'][number];
export type Draft = ResponseOf<'GET /api/knowledge-base/auto-replies'>['autoReplies'][number];

export const FILTERS = [
  { value: 'all', label: 'All' },
  { value: 'unanswered', label: 'Unanswered' },
  { value: 'drafts', label: 'Drafts' },
] as const;
export type Filter = (typeof FILTERS)[number]['value'];

/** The newest open draft of each conversation. */
export function draftsByAddress(drafts: readonly Draft[]): ReadonlyMap<string, Draft> {
  return new Map(drafts.toReversed().map((draft) => [draft.conversationRecipient, draft]));
}

export function matches(
  conversation: Conversation,
  filter: Filter,
  drafts: ReadonlyMap<string, Draft>,
): boolean {
  if (filter === 'unanswered') return conversation.lastDirection === 'in';
  return filter === 'all' || drafts.has(conversation.address);
}

/** What is read again after anything has happened in a conversation. */
export const REFRESH = [
  'GET /api/conversations',
  'GET /api/conversations/{address}',
  'GET /api/knowledge-base/auto-replies',
] as const;
