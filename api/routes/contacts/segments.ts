import { z } from 'zod';
import { findCampaignOfSegment } from '#db/queries/campaigns/campaigns.ts';
import { presentLead } from '#db/queries/contacts/leads.ts';
import {
  countSegments,
  deleteSegment,
  findSegment,
  insertSegment,
  leadsOfSegment,
  listSegments,
  presentSegment,
  type SegmentRow,
  TooManyToJudge,
  updateSegment,
} from '#db/queries/contacts/segments.ts';
import type { TenantDb } from '#db/connection/transactions.ts';
import { Id } from '#domain/base/ids.ts';
import { Lead } from '#domain/contacts/lead.ts';
import { Segment, SegmentInput, SegmentPatch } from '#domain/contacts/segment.ts';
import { ApiError, invalid } from '#api/http/errors.ts';
import { NextCursor, page, PageQuery } from '#api/http/page.ts';
import { workspaceRoute } from '#api/http/route.ts';

const SegmentParams = z.object({ id: Id });
const OneSegment = z.object({ success: z.literal(true), segment: Segment });

const segmentNotFound = (): ApiError => new ApiError('NOT_FOUND', 'Segment not found');

async function one(db: TenantDb, row: SegmentRow, now: Date): Promise<z.infer<typeof OneSegment>> {
  const counts = await countSegments(db, [row], now);
  return { success: true, segment: presentSegment(row, counts.get(row.id) ?? 0) };
}

/** Like `one`, where the conditions are of the request. @throws VALIDATION_ERROR */
async function changed(...[db, row, now]: Parameters<typeof one>): ReturnType<typeof one> {
  try {
    return await one(db, row, now);
  } catch (error) {
    throw error instanceof TooManyToJudge ? invalid('when', TooManyToJudge.problem) : error;
  }
}

export const segmentRoutes = [
  workspaceRoute({
    id: 'listSegments',
    method: 'GET',
    path: '/api/segments',
    tag: 'Contacts',
    heavy: true,
    summary: 'List segments, newest first, and how many leads are in each',
    query: PageQuery,
    responses: {
      200: z.object({ success: z.literal(true), segments: z.array(Segment), nextCursor: NextCursor }),
    },
    errors: ['INVALID_STATE'],
    async handler({ db, query, now }) {
      const rows = await listSegments(db, { ...query, limit: query.limit + 1 });
      const { items, nextCursor } = page(rows, query.limit);
      const counts = await countSegments(db, items, now);
      const segments = items.map((row) => presentSegment(row, counts.get(row.id) ?? 0));
      return { status: 200, body: { success: true, segments, nextCursor } };
    },
  }),

  workspaceRoute({
    id: 'createSegment',
    method: 'POST',
    path: '/api/segments',
    tag: 'Contacts',
    summary: 'Create a segment: the leads for whom all conditions hold',
    description: 'Who is in it is judged whenever it is asked; nothing is stored with the leads.',
    idempotent: true,
    adds: 'segments',
    body: SegmentInput,
    responses: { 201: OneSegment },
    async handler({ db, body, now }) {
      return { status: 201, body: await changed(db, await insertSegment(db, body, now), now) };
    },
  }),

  workspaceRoute({
    id: 'getSegment',
    method: 'GET',
    path: '/api/segments/{id}',
    tag: 'Contacts',
    heavy: true,
    summary: 'Get a segment, and how many leads are in it',
    params: SegmentParams,
    responses: { 200: OneSegment },
    errors: ['NOT_FOUND', 'INVALID_STATE'],
    async handler({ db, params, now }) {
      const row = await findSegment(db, params.id);
      if (!row) throw segmentNotFound();
      return { status: 200, body: await one(db, row, now) };
    },
  }),

  workspaceRoute({
    id: 'updateSegment',
    method: 'PATCH',
    path: '/api/segments/{id}',
    tag: 'Contacts',
    summary: 'Update a segment',
    description: 'Leads that have entered a campaign stay in it.',
    params: SegmentParams,
    body: SegmentPatch,
    responses: { 200: OneSegment },
    errors: ['NOT_FOUND'],
    async handler({ db, params, body, now }) {
      const row = await updateSegment(db, params.id, body, now);
      if (!row) throw segmentNotFound();
      return { status: 200, body: await changed(db, row, now) };
    },
  }),

  workspaceRoute({
    id: 'deleteSegment',
    method: 'DELETE',
    path: '/api/segments/{id}',
    tag: 'Contacts',
    summary: 'Delete a segment; its leads stay',
    description: 'The segment of a running campaign cannot be deleted.',
    params: SegmentParams,
    responses: { 200: z.object({ success: z.literal(true) }) },
    errors: ['NOT_FOUND', 'CONFLICT'],
    async handler({ db, params }) {
      if (!(await deleteSegment(db, params.id))) throw segmentNotFound();
      const campaign = await findCampaignOfSegment(db, params.id);
      if (campaign !== null)
        throw new ApiError('CONFLICT', `The campaign ${campaign} sends to this segment: archive it first`);
      return { status: 200, body: { success: true } };
    },
  }),

  workspaceRoute({
    id: 'listSegmentLeads',
    method: 'GET',
    path: '/api/segments/{id}/leads',
    tag: 'Contacts',
    heavy: true,
    summary: 'List the leads of a segment, newest first',
    params: SegmentParams,
    query: PageQuery,
    responses: { 200: z.object({ success: z.literal(true), leads: z.array(Lead), nextCursor: NextCursor }) },
    errors: ['NOT_FOUND', 'INVALID_STATE'],
    async handler({ db, params, query, now }) {
      const row = await findSegment(db, params.id);
      if (!row) throw segmentNotFound();
      const found = await leadsOfSegment(db, row.conditions, { ...query, limit: query.limit + 1 }, now);
      const { items, nextCursor } = page(found, query.limit);
      return { status: 200, body: { success: true, leads: items.map(presentLead), nextCursor } };
    },
  }),
];
