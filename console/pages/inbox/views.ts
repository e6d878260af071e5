import type { RequestTo } from '#console/api/routes.ts';
import { type Conversation, type Draft } from './conversations.ts';

type Query = NonNullable<RequestTo<'GET /api/conversations'>['query']>;

interface View {
  value: string;
  label: string;
  /** What the API filters by. */
  query: Query;
  empty: { title: string; text: string };
}

const NOTHING = { title: 'Nothing here', text: 'No conversation is in this view.' };

/** The views of the inbox. Two of them show a part of what the API lists. */
export const VIEWS = [
  {
    value: 'open',
    label: 'Open',
    query: { status: 'open' },
    empty: {
      title: 'No open conversations',
      text: 'They begin with the first message to or from a contact, and are open again when the contact writes.',
    },
  },
  {
    value: 'unread',
    label: 'Unread',
    query: { unread: 'true' },
    empty: { title: 'Everything is read', text: 'What contacts have written since you looked appears here.' },
  },
  { value: 'mine', label: 'Mine', query: { assignee: 'me', status: 'open' }, empty: NOTHING },
  { value: 'unassigned', label: 'Unassigned', query: { assignee: 'none', status: 'open' }, empty: NOTHING },
  {
    value: 'unanswered',
    label: 'Unanswered',
    query: { status: 'open' },
    empty: {
      title: 'Everything is answered',
      text: 'Conversations in which the contact wrote last appear here.',
    },
  },
  {
    value: 'drafts',
    label: 'Drafts',
    query: {},
    empty: {
      title: 'No drafts to review',
      text: 'The copilot writes one when a contact replies, if it is turned on.',
    },
  },
  { value: 'snoozed', label: 'Snoozed', query: { status: 'snoozed' }, empty: NOTHING },
  { value: 'closed', label: 'Closed', query: { status: 'closed' }, empty: NOTHING },
  {
    value: 'all',
    label: 'All',
    query: {},
    empty: { title: 'No conversations yet', text: 'They begin with the first message to or from a contact.' },
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

/** Whether a view also shows drafts to contacts who have no conversation yet. */
export const showsDrafted = (view: ViewName): boolean =>
  view === 'open' || view === 'drafts' || view === 'all';

export function isInView(
  { lastDirection, address }: Conversation,
  view: ViewName,
  drafts: ReadonlyMap<string, Draft>,
): boolean {
  if (view === 'unanswered') return lastDirection === 'in';
  return view !== 'drafts' || drafts.has(address);
}
