import type { Context } from 'koa';
import { withSystem } from '#db/pool.ts';
import { acceptOffer, findOffer } from '#db/queries/team.ts';
import { html } from '#providers/mail/html.ts';
import { publicRoute } from '../http/route.ts';
import { showPage } from '../http/small-page.ts';
import { hashToken } from './team.ts';

/** For a person: mail scanners fetch every link, so the page only asks. */
export const invitationPage = publicRoute({
  id: 'invitationPage',
  method: 'GET',
  path: '/invitations/{token}',
  tag: 'Team',
  summary: 'A page that asks whether to accept an invitation; opening it changes nothing',
  async respond(context, { pools }) {
    const offer = await withSystem(pools, (db) => findOffer(db, tokenOf(context), new Date()));
    if (!offer) return showPage(context, 404, html`This invitation is no longer valid`);
    if (offer.acceptedAt !== null)
      return showPage(context, 200, html`You are a member of ${offer.workspaceName}`);
    showPage(
      context,
      200,
      html`Join ${offer.workspaceName}?`,
      html`<form method="post"><button>Accept the invitation</button></form>`,
    );
  },
});

export const acceptInvitation = publicRoute({
  id: 'acceptInvitation',
  method: 'POST',
  path: '/invitations/{token}',
  tag: 'Team',
  summary: 'Accept an invitation; the link in its email is the whole credential',
  async respond(context, { pools }) {
    const now = new Date();
    const offer = await withSystem(pools, async (db) => {
      const found = await findOffer(db, tokenOf(context), now);
      if (found) await acceptOffer(db, found, now);
      return found;
    });
    if (!offer) return showPage(context, 404, html`This invitation is no longer valid`);
    showPage(context, 200, html`You are a member of ${offer.workspaceName}`);
  },
});

const tokenOf = (context: Context): string =>
  hashToken((context['params'] as Record<string, string>)['token'] ?? '');
