import { randomInt } from 'node:crypto';
import type { Context } from 'koa';
import encodeQR from 'qr';
import { z } from 'zod';
import { findCampaign } from '#db/queries/campaigns/campaigns.ts';
import { findList } from '#db/queries/contacts/lists.ts';
import {
  countOptIn,
  deleteOptInLink,
  findOptInLink,
  insertOptInLink,
  optInLinkOf,
  optInMessage,
  optInUrl,
  pageOfOptInLinks,
  presentOptInLink,
  workspaceOfOptInLink,
} from '#db/queries/contacts/opt-in-links.ts';
import { findPool } from '#db/queries/lines/line-pools.ts';
import { findLine } from '#db/queries/lines/lines.ts';
import { type TenantDb, withAuth, withTenant } from '#db/connection/transactions.ts';
import { Id } from '#domain/base/ids.ts';
import {
  newOptInCode,
  optInCodes,
  OptInLink,
  OptInLinkInput,
  optInText,
} from '#domain/contacts/opt-in-link.ts';
import { Html, html } from '#providers/mail/html.ts';
import { clientAddress } from '#api/http/client-address.ts';
import { ApiError, invalid } from '#api/http/errors.ts';
import { NextCursor, page, PageQuery } from '#api/http/page.ts';
import { publicRoute, workspaceRoute } from '#api/http/route.ts';
import { PAGE_RESPONSES, refuseLink, showPage } from '#api/http/small-page.ts';
import type { Services } from '#api/services.ts';

const LinkParams = z.object({ id: Id });
const OneLink = OptInLink.extend({ success: z.literal(true) });

const linkNotFound = (): ApiError => new ApiError('NOT_FOUND', 'Opt-in link not found');

export const optInLinkRoutes = [
  workspaceRoute({
    id: 'listOptInLinks',
    method: 'GET',
    path: '/api/opt-in-links',
    tag: 'Contacts',
    summary: 'List opt-in links, newest first',
    query: PageQuery,
    responses: {
      200: z.object({ success: z.literal(true), optInLinks: z.array(OptInLink), nextCursor: NextCursor }),
    },
    async handler({ db, config, query }) {
      const { items, nextCursor } = page(await pageOfOptInLinks(db, query), query.limit);
      const optInLinks = items.map((row) => presentOptInLink(row, config.publicUrl));
      return { status: 200, body: { success: true, optInLinks, nextCursor } };
    },
  }),

  workspaceRoute({
    id: 'createOptInLink',
    method: 'POST',
    path: '/api/opt-in-links',
    tag: 'Contacts',
    summary: 'Create a link and a QR code with which a contact writes first',
    description:
      'The message contains the code of the link. It records consent with its wording and the text that the contact wrote, opts the contact in, and makes the contact a lead.',
    idempotent: true,
    adds: 'optInLinks',
    body: OptInLinkInput,
    responses: { 201: OneLink },
    audit: {
      action: 'opt_in_link.created',
      target: 'opt_in_link',
      targets: ({ answer }) => [{ id: answer._id }],
      changes: ['name'],
    },
    async handler({ db, config, body, now }) {
      await requireKnown(db, body);
      const row = await insertOptInLink(db, body, newOptInCode(randomInt), now);
      return { status: 201, body: { success: true, ...presentOptInLink(row, config.publicUrl) } };
    },
  }),

  workspaceRoute({
    id: 'getOptInLink',
    method: 'GET',
    path: '/api/opt-in-links/{id}',
    tag: 'Contacts',
    summary: 'Get an opt-in link',
    params: LinkParams,
    responses: { 200: OneLink },
    errors: ['NOT_FOUND'],
    async handler({ db, config, params }) {
      const row = await findOptInLink(db, params.id);
      if (!row) throw linkNotFound();
      return { status: 200, body: { success: true, ...presentOptInLink(row, config.publicUrl) } };
    },
  }),

  workspaceRoute({
    id: 'deleteOptInLink',
    method: 'DELETE',
    path: '/api/opt-in-links/{id}',
    tag: 'Contacts',
    summary: 'Delete an opt-in link; consents that contacts gave with it remain',
    params: LinkParams,
    responses: { 200: z.object({ success: z.literal(true) }) },
    errors: ['NOT_FOUND'],
    audit: { action: 'opt_in_link.deleted', target: 'opt_in_link' },
    async handler({ db, params }) {
      if (!(await deleteOptInLink(db, params.id))) throw linkNotFound();
      return { status: 200, body: { success: true } };
    },
  }),
];

/** @throws VALIDATION_ERROR naming what does not exist, or cannot be written to from a phone. */
async function requireKnown(
  db: TenantDb,
  { lineId, poolId, listId, campaignId }: z.output<typeof OptInLinkInput>,
): Promise<void> {
  if (lineId !== undefined) {
    const line = await findLine(db, lineId);
    if (!line) throw invalid('lineId', 'must be a line of the workspace');
    if (line.channel === 'email') throw invalid('lineId', 'must be an iMessage or SMS line');
  }
  if (poolId !== undefined && !(await findPool(db, poolId)))
    throw invalid('poolId', 'must be a pool of the workspace');
  if (listId !== undefined && !(await findList(db, listId)))
    throw invalid('listId', 'must be a list of the workspace');
  if (campaignId === undefined) return;
  const campaign = await findCampaign(db, campaignId);
  if (!campaign) throw invalid('campaignId', 'must be a campaign of the workspace');
  if (campaign.status === 'archived') throw invalid('campaignId', 'must not be archived');
}

export const optInPageRoutes = [
  publicRoute({
    id: 'optInPage',
    method: 'GET',
    path: '/join/{code}',
    tag: 'Contacts',
    summary: 'Show the page of an opt-in link, which opens the message on a phone',
    contentTypes: PAGE_RESPONSES,
    async respond(context, services) {
      const found = await linkOf(context, services);
      if (!found) return refuseLink(context, services);
      const { workspaceId, row } = found;
      if (await services.rateLimits.countsVisit(clientAddress(context), row.id))
        await withTenant(services.pools, workspaceId, (db) => countOptIn(db, row.id, { visits: 1 })).catch(
          // The page matters more than the count, for example while the database is read-only.
          (error: unknown) =>
            services.logger.warn({ err: error }, 'a visit of an opt-in link was not counted'),
        );
      const { to, sms, imessage } = optInMessage(row);
      const text = optInText(row);
      const url = sms ?? imessage;
      const open = url === null ? html`` : html`<p><a href="${url}">Open the message</a></p>`;
      showPage(
        context,
        200,
        html`${row.name}`,
        html`<p>${row.consent}</p>
          ${open}
          <p>Or send this message to <b>${to}</b>:</p>
          <p><b>${text}</b></p>
          ${new Html(encodeQR(url !== null && url.length <= MAX_QR ? url : optInUrl(services.config.publicUrl, row.code), 'svg'))}`,
      );
    },
  }),

  publicRoute({
    id: 'optInQr',
    method: 'GET',
    path: '/join/{code}/qr.svg',
    tag: 'Contacts',
    summary: 'Get the QR code of an opt-in link',
    contentTypes: { 200: 'image/svg+xml', 404: 'text/html' },
    async respond(context, services) {
      const found = await linkOf(context, services);
      if (!found) return refuseLink(context, services);
      context.type = 'image/svg+xml';
      context.set('Cache-Control', 'public, max-age=86400');
      context.body = encodeQR(optInUrl(services.config.publicUrl, found.row.code), 'svg');
    },
  }),
];

/** The longest link in the QR code. Longer ones are too fine for most cameras, and some fit into none. */
const MAX_QR = 500;

async function linkOf(context: Context, { pools }: Services) {
  const { code: given = '' } = context['params'] as Record<string, string>;
  const [code] = optInCodes(given);
  if (code === undefined) return null;
  const workspaceId = await withAuth(pools, clientAddress(context), `opt-in link ${code}`, (db) =>
    workspaceOfOptInLink(db, code),
  );
  if (workspaceId === null) return null;
  const row = await withTenant(pools, workspaceId, (db) => optInLinkOf(db, [code]));
  return row && { workspaceId, row };
}
