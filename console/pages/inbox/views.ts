import type { MessageDescriptor } from '@lingui/core';
import { msg } from '@lingui/core/macro';
import type { RequestTo } from '#console/api/routes.ts';

type Query = NonNullable<RequestTo<'GET /api/conversations'>['query']>;

interface View {
  value: string;
  label: MessageDescriptor;
  /** What the API filters by. */
  query: Query;
  empty: { title: MessageDescriptor; text: MessageDescriptor };
}

const NOTHING = { title: msg`Nothing here`, text: msg`No conversation is in this view.` };

/** The views of the inbox. */
export const VIEWS = [
  {
    value: 'open',
    label: msg({ message: 'Open', context: 'conversations' }),
    query: { status: 'open' },
    empty: {
      title: msg`No open conversations`,
      text: msg`They begin with the first message to or from a contact, and are open again when the contact writes.`,
    },
  },
  {
    value: 'unread',
    label: msg({ message: 'Unread', context: 'conversations' }),
    query: { unread: 'true', status: 'open' },
    empty: {
      title: msg`Everything is read`,
      text: msg`What contacts have written since you looked appears here.`,
    },
  },
  {
    value: 'mine',
    label: msg({ message: 'Mine', context: 'conversations' }),
    query: { assignee: 'me', status: 'open' },
    empty: NOTHING,
  },
  {
    value: 'unassigned',
    label: msg({ message: 'Unassigned', context: 'conversations' }),
    query: { assignee: 'none', status: 'open' },
    empty: NOTHING,
  },
  {
    value: 'unanswered',
    label: msg({ message: 'Unanswered', context: 'conversations' }),
    query: { unanswered: 'true' },
    empty: {
      title: msg`Everything is answered`,
      text: msg`Conversations in which the contact wrote last appear here.`,
    },
  },
  {
    value: 'drafts',
    label: msg({ message: 'Drafts', context: 'conversations' }),
    query: { drafted: 'true' },
    empty: {
      title: msg`No drafts to review`,
      text: msg`The copilot writes one when a contact replies, if it is turned on.`,
    },
  },
  {
    value: 'snoozed',
    label: msg({ message: 'Snoozed', context: 'conversations' }),
    query: { status: 'snoozed' },
    empty: NOTHING,
  },
  {
    value: 'closed',
    label: msg({ message: 'Closed', context: 'conversations' }),
    query: { status: 'closed' },
    empty: NOTHING,
  },
  {
    value: 'all',
    label: msg({ message: 'All', context: 'conversations' }),
    query: {},
    empty: {
      title: msg`No conversations yet`,
      text: msg`They begin with the first message to or from a contact.`,
    },
  },
] as const satisfies readonly View[];
export type ViewName = (typeof VIEWS)[number]['value'];

export const viewOf = (name: string): (typeof VIEWS)[number] =>
  VIEWS.find(({ value }) => value === name) ?? VIEWS[0];

/** The query of a view and a search, in which `tag:vip` names a tag. */
export function queryOf(name: string, search: string): Query {
  const tag = /(?:^|\s)tag:(\S+)/i.exec(search)?.[1];
  const q = search.replace(/(?:^|\s)tag:\S*/i, '').trim();
  return { ...viewOf(name).query, ...(tag !== undefined && { tag }), ...(q !== '' && { q }) };
}

/** Whether a view also shows drafts to contacts who have no conversation yet, which no number of the others counts. */
export const showsDrafted = (view: ViewName): boolean => view === 'drafts';
