import type { Context } from 'koa';
import { draftForChat } from '#db/commands/drafts/chat-messages.ts';
import { type TenantDb, withTenant } from '#db/connection/transactions.ts';
import { workspaceTimezone } from '#db/queries/accounts/workspaces.ts';
import { findInboxMember, type InboxMember } from '#db/queries/inbox/inbox-members.ts';
import { isErased } from '#domain/contacts/erasure.ts';
import { draftCard, draftShown, draftVersion } from '#domain/drafts/chat.ts';
import { createDraftLinks } from '#providers/draft-link.ts';
import { escapeHtml, Html, html } from '#providers/mail/html.ts';
import { readForm } from '#api/http/body.ts';
import { publicRoute } from '#api/http/route.ts';
import { PAGE_RESPONSES, refuseLink, showPage } from '#api/http/small-page.ts';
import type { Services } from '#api/services.ts';
import { decideAs, refusalText } from './member-decisions.ts';

interface Opened {
  workspaceId: string;
  replyId: string;
  member: InboxMember;
}

export const draftLinkRoutes = [
  /** The page only asks for confirmation, because mail scanners open every link. */
  publicRoute({
    id: 'draftPage',
    method: 'GET',
    path: '/drafts/{token}',
    tag: 'AI drafts',
    summary: 'Show a page that asks whether to approve or reject a draft, with a link that was sent by email',
    contentTypes: PAGE_RESPONSES,
    async respond(context, services) {
      const opened = await open(context, services);
      if (!opened) return refuseLink(context, services);
      const action = context.query['action'] === 'reject' ? 'reject' : 'approve';
      await showDraft(context, services, opened, { action });
    },
  }),

  publicRoute({
    id: 'decideWithLink',
    method: 'POST',
    path: '/drafts/{token}',
    tag: 'AI drafts',
    summary: 'Approve or reject the draft of a link that was sent by email',
    errors: ['BODY_TOO_LARGE'],
    contentTypes: PAGE_RESPONSES,
    async respond(context, services) {
      const opened = await open(context, services);
      if (!opened) return refuseLink(context, services);
      const form = await readForm(context);
      const action = form.get('action') === 'reject' ? 'reject' : 'approve';
      const { workspaceId, replyId, member } = opened;
      const wish = { replyId, action, version: form.get('version') ?? '', channel: 'dashboard' } as const;
      const said = await withTenant(services.pools, workspaceId, (db) =>
        decideAs(db, member, wish, services),
      ).catch(refusalText);
      await showDraft(context, services, opened, { action, said });
    },
  }),
];

/** @returns null if the link is not valid, or not of a member any more. */
async function open(context: Context, { config, signer, pools }: Services): Promise<Opened | null> {
  const { token = '' } = context['params'] as Record<string, string>;
  const target = createDraftLinks(config.publicUrl, signer).read(token);
  if (!target) return null;
  const { workspaceId, replyId, userId } = target;
  const member = await withTenant(pools, workspaceId, (db) => findInboxMember(db, userId));
  return member && { workspaceId, replyId, member };
}

/** @param said about what was asked for; absent: nothing was. */
async function showDraft(
  context: Context,
  { pools }: Services,
  { workspaceId, replyId, member }: Opened,
  { action, said }: { action: 'approve' | 'reject'; said?: string },
): Promise<void> {
  const found = await withTenant(pools, workspaceId, (db) => draftNow(db, replyId));
  if (!found) return showPage(context, 404, html`This draft was deleted`);
  const { paragraphs, version } = found;
  const label = action === 'approve' ? 'Approve' : 'Reject';
  const form =
    version === null
      ? html``
      : html`<p>You decide as ${member.email}.</p>
          <form method="post" action="?">
            <input type="hidden" name="version" value="${version}" />
            <button name="action" value="${action}">${label}</button>
          </form>`;
  const title = said ?? (version === null ? 'This draft is not open any more' : `${label} this draft?`);
  showPage(context, 200, html`${title}`, html`${new Html(paragraphs.map(paragraph).join(''))} ${form}`);
}

const paragraph = (text: string): string =>
  `<p>${text
    .split('\n')
    .map((line) => escapeHtml(line))
    .join('<br>')}</p>`;

/** What is shown of a draft now. `version` is null if nothing can be decided about it. */
async function draftNow(
  db: TenantDb,
  replyId: string,
): Promise<{ paragraphs: string[]; version: string | null } | null> {
  const told = await draftForChat(db, replyId);
  if (!told) return null;
  // What is approved is what was read, so all of it is shown.
  if (told.status === 'drafted' && told.draft !== null && !isErased(told.address))
    return { paragraphs: draftShown(told, Infinity), version: draftVersion(told.draft) };
  const timezone = await workspaceTimezone(db);
  return { paragraphs: draftCard(told, { chatMessageId: null, timezone }).paragraphs, version: null };
}
