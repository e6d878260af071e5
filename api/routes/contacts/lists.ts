import { z } from 'zod';
import { deleteList } from '#db/commands/contacts/list-deletion.ts';
import { leadsOfList } from '#db/queries/campaigns/audience.ts';
import { findSendingCampaign } from '#db/queries/campaigns/campaigns.ts';
import { consentCoverage } from '#db/queries/contacts/consent-coverage.ts';
import {
  findList,
  insertList,
  listLists,
  lockList,
  presentList,
  updateList,
} from '#db/queries/contacts/lists.ts';
import { Channel } from '#domain/base/channel.ts';
import { ConsentCoverage } from '#domain/contacts/consent.ts';
import { Id } from '#domain/base/ids.ts';
import { LeadList, LeadListInput, LeadListPatch } from '#domain/contacts/lead-list.ts';
import { ApiError } from '#api/http/errors.ts';
import { perMinute } from '#api/http/rate-limits.ts';
import { workspaceRoute } from '#api/http/route.ts';
import { Search } from '#domain/base/search.ts';

const ListParams = z.object({ id: Id });

const OneList = z.object({ success: z.literal(true), list: LeadList });

export const listNotFound = (): ApiError => new ApiError('NOT_FOUND', 'List not found');

export const listRoutes = [
  workspaceRoute({
    id: 'listLists',
    method: 'GET',
    path: '/api/lists',
    tag: 'Contacts',
    summary: 'List lead lists, newest first',
    description: 'Never empty: the list Quick Sends is created if it does not exist.',
    limit: perMinute(120),
    query: z.object({ search: Search }),
    responses: { 200: z.object({ lists: z.array(LeadList) }) },
    async handler({ db, query: { search } }) {
      return { status: 200, body: { lists: (await listLists(db, search)).map(presentList) } };
    },
  }),

  workspaceRoute({
    id: 'createList',
    method: 'POST',
    path: '/api/lists',
    tag: 'Contacts',
    summary: 'Create a lead list',
    idempotent: true,
    adds: 'lists',
    body: LeadListInput,
    responses: { 201: OneList },
    async handler({ db, caller, body }) {
      const row = await insertList(db, {
        name: body.name,
        description: body.description ?? '',
        userId: caller.userId,
      });
      return { status: 201, body: { success: true, list: presentList(row) } };
    },
  }),

  workspaceRoute({
    id: 'updateList',
    method: 'PATCH',
    path: '/api/lists/{id}',
    tag: 'Contacts',
    summary: 'Update a lead list; Quick Sends cannot be renamed',
    params: ListParams,
    body: LeadListPatch,
    responses: { 200: OneList },
    errors: ['NOT_FOUND', 'QUICK_SENDS_STAYS'],
    async handler({ db, params, body }) {
      const list = await findList(db, params.id);
      if (!list) throw listNotFound();
      if (list.isQuickSends && body.name !== undefined && body.name !== list.name)
        throw new ApiError('QUICK_SENDS_STAYS');
      const row = await updateList(db, params.id, body);
      if (!row) throw listNotFound();
      return { status: 200, body: { success: true, list: presentList(row) } };
    },
  }),

  workspaceRoute({
    id: 'getListConsent',
    method: 'GET',
    path: '/api/lists/{id}/consent',
    tag: 'Contacts',
    heavy: true,
    summary: 'Get how many leads of a list have consented to messages on a channel',
    description:
      'A campaign with `requireConsent` sends a step on the channel only to the leads in `granted`.',
    params: ListParams,
    query: z.object({ channel: Channel.default('imessage') }),
    responses: { 200: ConsentCoverage.extend({ success: z.literal(true), channel: Channel }) },
    errors: ['NOT_FOUND'],
    async handler({ db, params, query: { channel } }) {
      if (!(await findList(db, params.id))) throw listNotFound();
      const coverage = await consentCoverage(db, leadsOfList(db, params.id), channel);
      return { status: 200, body: { success: true, channel, ...coverage } };
    },
  }),

  workspaceRoute({
    id: 'deleteList',
    method: 'DELETE',
    path: '/api/lists/{id}',
    tag: 'Contacts',
    summary: 'Delete a lead list with its leads, and cancel their unsent messages',
    description:
      'Leads that are also in another list are kept. Quick Sends and the list of a running campaign cannot be deleted.',
    params: ListParams,
    responses: { 200: z.object({ success: z.literal(true) }) },
    errors: ['NOT_FOUND', 'QUICK_SENDS_STAYS', 'CONFLICT'],
    async handler({ db, params, now }) {
      if (!(await lockList(db, params.id))) throw listNotFound();
      if ((await findList(db, params.id))?.isQuickSends) throw new ApiError('QUICK_SENDS_STAYS');
      const campaign = await findSendingCampaign(db, params.id);
      if (campaign !== null)
        throw new ApiError('CONFLICT', `The campaign ${campaign} sends to this list: archive it first`);
      await deleteList(db, params.id, now);
      return { status: 200, body: { success: true } };
    },
  }),
];
