import { createHash } from 'node:crypto';
import { z } from 'zod';
import { toZoned } from '../base/calendar.ts';
import { Id } from '../base/ids.ts';
import { truncate } from '../base/text.ts';
import { isErased } from '../contacts/erasure.ts';
import type { ApprovalChannel, DraftSource } from '../events/ai-draft.ts';
import { MAX_VERSIONS, type StoredDraftStatus } from './ai-draft.ts';

export const ChatProviderName = z.enum(['telegram', 'slack']);
export type ChatProviderName = z.infer<typeof ChatProviderName>;

/** Which drafts a chat is told: those of its member's contacts, or those that no member's chat is told. */
export const ChatScope = z.enum(['workspace', 'member']);
export type ChatScope = z.infer<typeof ChatScope>;

export const ChatConnectionInput = z
  .object({
    provider: ChatProviderName,
    scope: ChatScope.meta({
      description:
        '`member`: a chat of the caller, which is told of drafts to the contacts whose owner the caller is. `workspace`: a chat, usually of several people, which is told of all others; only admins link one.',
    }),
  })
  .meta({ id: 'ChatConnectionInput' });
export type ChatConnectionInput = z.infer<typeof ChatConnectionInput>;

/** How long a code can be used, in milliseconds. */
export const CHAT_CODE_MS = 15 * 60_000;

/** A linked chat, as the API returns it. */
export const ChatConnection = z
  .object({
    _id: Id,
    provider: ChatProviderName,
    scope: ChatScope,
    userId: z.string().meta({ description: 'The member who linked it.' }),
    status: z.enum(['pending', 'linked', 'broken']).meta({
      description:
        '`pending`: its code was not used yet. `broken`: the provider delivers nothing to it any more, for example because the bot was blocked; link it again.',
    }),
    error: z.string().nullable().meta({ description: 'Why it is broken.' }),
    createdAt: z.iso.datetime(),
    linkedAt: z.iso.datetime().nullable(),
  })
  .meta({ id: 'ChatConnection' });
export type ChatConnection = z.infer<typeof ChatConnection>;

const ChatAction = z.enum(['approve', 'retry', 'reject']);
/** `retry`: ask for another version. */
export type ChatAction = z.infer<typeof ChatAction>;

/** What a chat shows, for any provider. The texts have no markup: a contact wrote some of them. */
export interface Card {
  paragraphs: string[];
  buttons: { label: string; action: ChatAction; data: string }[];
}

/** A draft, as a chat is told of it. */
export interface DraftForChat {
  address: string;
  /** The contact's; null: it is not known. */
  name: string | null;
  /** What the contact wrote; empty: nothing. */
  question: string;
  source: DraftSource;
  status: z.infer<typeof StoredDraftStatus>;
  draft: string | null;
  /** 0 to 1. */
  confidence: number | null;
  /** From 1. */
  version: number;
  /** Somebody has asked for another version. */
  isRetrying: boolean;
  /** The last version that was asked for was not written. */
  isRetryFailed: boolean;
  approvalChannel: ApprovalChannel | null;
  /** Who decided. */
  by: string | null;
  resolvedAt: Date | null;
  /** The text that was sent instead of the draft. */
  sentInstead: string | null;
}

/** Both providers cut texts at about 4,000 characters; one paragraph of Slack has at most 3,000. */
const QUESTION = 700;
const DRAFT = 2500;

const excerpt = (text: string, length: number): string =>
  text.length > length ? `${truncate(text, length)}…` : text;

/** Names the shown text of a draft, so that a button does not approve another one. */
export const draftVersion = (draft: string): string =>
  createHash('sha256').update(draft).digest('hex').slice(0, 12);

/** What a button of a message says when it is pressed: at most 64 bytes, which is Telegram's limit. */
const buttonData = (action: ChatAction, chatMessageId: string, draft: string): string =>
  `${action}:${chatMessageId}:${draftVersion(draft)}`;

const BUTTON = /^(\w+):([0-9a-f]{24}):([0-9a-f]{12})$/;

export function readButton(
  data: string,
): { action: ChatAction; chatMessageId: string; version: string } | null {
  const [, given, chatMessageId = '', version = ''] = BUTTON.exec(data) ?? [];
  const action = ChatAction.safeParse(given);
  return action.success ? { action: action.data, chatMessageId, version } : null;
}

/**
 * What a chat shows of a draft now.
 * @param open.chatMessageId of the message with the buttons; null: it gets none, because its chat is not linked any more.
 */
export function draftCard(
  told: DraftForChat,
  { chatMessageId, timezone }: { chatMessageId: string | null; timezone: string },
): Card {
  if (isErased(told.address)) return ERASED_CARD;
  const shown = draftShown(told);
  if (told.draft === null) return { paragraphs: [...shown, 'The draft was taken back.'], buttons: [] };
  if (told.status !== 'drafted') return { paragraphs: [...shown, ...outcomeOf(told, timezone)], buttons: [] };
  if (chatMessageId === null) return UNLINKED_CARD;
  // What is approved is what was read.
  const isWhole = told.draft.length <= DRAFT;
  const canRetry = told.source === 'copilot' && told.version < MAX_VERSIONS && !told.isRetrying;
  const buttons = [
    ...(isWhole ? [{ label: 'Approve', action: 'approve' as const }] : []),
    ...(canRetry ? [{ label: 'Another', action: 'retry' as const }] : []),
    { label: 'Reject', action: 'reject' as const },
  ].map((button) => ({ ...button, data: buttonData(button.action, chatMessageId, told.draft ?? '') }));
  const retry = [
    ...(told.isRetrying ? ['Another version is being written.'] : []),
    ...(told.isRetryFailed ? ['Another version could not be written.'] : []),
  ];
  const hint = isWhole
    ? 'Reply to this message to send your own text instead.'
    : 'The draft is too long for a chat: approve it in the console, or reply to this message to send your own text.';
  return { paragraphs: [...shown, ...retry, hint], buttons };
}

/** Who wrote what, and the draft if there is one. @param longest of the draft, in characters. */
export function draftShown(told: DraftForChat, longest = DRAFT): string[] {
  const who = told.name === null ? told.address : `${told.name} (${told.address})`;
  const asked = told.question === '' ? [who] : [`${who} wrote:`, excerpt(told.question, QUESTION)];
  return told.draft === null ? asked : [...asked, `${headingOf(told)}:`, excerpt(told.draft, longest)];
}

/** In the place of a message that the provider does not delete any more. */
export const ERASED_CARD: Card = { paragraphs: ['The contact was erased.'], buttons: [] };

/** In a chat that is not linked any more, and in which nobody may be left who is to know of the draft. */
export const UNLINKED_CARD: Card = { paragraphs: ['This chat is not linked any more.'], buttons: [] };

function headingOf({ source, confidence, version }: DraftForChat): string {
  if (source !== 'copilot') return source === 'api' ? 'Draft by a program' : 'Draft by a member';
  const which = version > 1 ? `, version ${version}` : '';
  return `Draft${which} (${Math.round((confidence ?? 0) * 100)}% confident)`;
}

const CHANNELS: Record<ApprovalChannel, string> = {
  dashboard: 'in the console or by email',
  api: 'through the API',
  chat_app: 'in a chat',
  chat_app_edit: 'in a chat',
  chat_app_retry: 'in a chat',
  inbox_direct_send: 'from the inbox',
};

/** Who decided, where and when. */
function outcomeOf(told: DraftForChat, timezone: string): string[] {
  const { status, by, approvalChannel, resolvedAt, sentInstead } = told;
  const when =
    resolvedAt === null
      ? ''
      : `, ${toZoned(timezone, resolvedAt).toLocaleString('en', { dateStyle: 'medium', timeStyle: 'short' })}`;
  // Operators decide in none of these places.
  const isElsewhere = approvalChannel === null || (by?.startsWith('operator ') ?? false);
  const how = `${by === null ? '' : ` by ${by}`}${isElsewhere ? '' : ` ${CHANNELS[approvalChannel]}`}${when}`;
  if (status === 'approved' && sentInstead !== null)
    return [`Answered${how}, with another text:`, excerpt(sentInstead, QUESTION)];
  if (status === 'approved') return [`Approved${how}.`];
  if (status === 'rejected') return [`Rejected${how}.`];
  if (status === 'claimed') return [`Answered in another way${how}.`];
  return [`No longer needed: the contact wrote again, was answered, or got another draft${when}.`];
}
