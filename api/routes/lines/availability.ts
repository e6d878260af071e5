import { z } from 'zod';
import { followLeadChanges } from '#db/commands/campaigns/lead-changes.ts';
import { findJob, insertJob, leadsToCheck, storeAvailability } from '#db/queries/lines/availability.ts';
import { checkAddress } from '#db/commands/lines/check-address.ts';
import { findLeads } from '#db/queries/contacts/leads.ts';
import { withTenant } from '#db/connection/transactions.ts';
import { wake } from '#db/wakes/wakes.ts';
import { writtenAddress } from '#domain/base/address.ts';
import {
  AvailabilityResponse,
  toAvailabilityResponse,
  AvailabilityBatch,
  AvailabilityJob,
  type AvailabilityResult,
  AvailabilityStatus,
} from '#domain/lines/availability.ts';
import type { WorkspaceCaller } from '#domain/accounts/caller.ts';
import { Id } from '#domain/base/ids.ts';
import { hasScope } from '#domain/accounts/key-scope.ts';
import { askCarrier } from '#providers/carriers/line-carrier.ts';
import { availabilityJobId } from '#workflows/protocol/workflow-ids.ts';
import { ApiError, invalid } from '#api/http/errors.ts';
import { requestHash, withIdempotencyKey, workspaceKeys } from '#api/http/idempotency.ts';
import { perMinute } from '#api/http/rate-limits.ts';
import { workspaceRoute } from '#api/http/route.ts';
import { leadNotFound } from '../contacts/leads.ts';
import { requireWritable } from '#api/http/read-only.ts';
import type { Services } from '#api/services.ts';

const CHECKS = perMinute(200);

function readAddress(text: string | undefined, caller: WorkspaceCaller): string {
  if (text === undefined || text.trim() === '')
    throw invalid('address', 'is required: a phone number or an email address');
  const address = writtenAddress(text, caller.workspace.country);
  if (address === null) throw invalid('address', 'must be a phone number or an email address');
  return address;
}

const AcceptedJob = z.object({ success: z.literal(true), jobId: Id, total: z.int() });

const RoundRobinResponse = AvailabilityResponse.extend({ address: z.string(), lineId: Id.nullable() });

const checkRoundRobinRoutes = [
  workspaceRoute({
    id: 'checkAvailabilityRoundRobin',
    method: 'GET',
    path: '/api/check-availability-rr',
    tag: 'Availability',
    transaction: false,
    summary: 'Check whether an address has iMessage, through the next line in turn',
    limit: CHECKS,
    query: z.object({ address: z.string().max(320).optional() }),
    responses: { 200: RoundRobinResponse },
    handler: ({ query, ...context }) => checkRoundRobin(query.address, context),
  }),
  workspaceRoute({
    id: 'checkAvailabilityRoundRobinPost',
    method: 'POST',
    path: '/api/check-availability-rr',
    tag: 'Availability',
    scope: 'read',
    transaction: false,
    openWhenReadOnly: true,
    summary: 'Check whether an address has iMessage, through the next line in turn',
    limit: CHECKS,
    body: z.object({ address: z.string().max(320).optional() }),
    responses: { 200: RoundRobinResponse },
    handler: ({ body, ...context }) => checkRoundRobin(body.address, context),
  }),
];

/** Whether the caller may change leads. */
const mayChange = ({ key }: WorkspaceCaller): boolean =>
  key === null || hasScope(key.scopes, ['send', 'manage']);

export const availabilityRoutes = [
  workspaceRoute({
    id: 'checkLeadAvailability',
    method: 'GET',
    path: '/api/leads/check-availability',
    tag: 'Availability',
    transaction: false,
    summary: "Check whether a lead has iMessage, and store the result in the lead's status",
    limit: CHECKS,
    query: z.object({ id: z.string().min(1, 'is required') }),
    responses: { 200: AvailabilityResponse.extend({ leadId: Id, status: AvailabilityStatus }) },
    errors: ['NOT_FOUND'],
    async handler({ caller, query, now, ...services }) {
      const lead = await withTenant(services.pools, caller.workspace.id, async (db) =>
        (await findLeads(db, [query.id])).get(query.id),
      );
      if (!lead) throw leadNotFound();
      const address = lead.phones[0] ?? lead.emails[0];
      const result: AvailabilityResult =
        address === undefined
          ? { status: 'error', lineId: null }
          : await checkAddress(services.pools, caller.workspace, address, askCarrier(services), {
              now,
            });
      // A key that only reads changes nothing.
      if (mayChange(caller))
        await withTenant(services.pools, caller.workspace.id, async (db) => {
          await storeAvailability(db, lead.id, result);
          await followLeadChanges(db, [lead.id], now);
        });
      return {
        status: 200,
        body: { ...toAvailabilityResponse(result), leadId: lead.id, status: result.status },
      };
    },
  }),

  workspaceRoute({
    id: 'checkAvailability',
    method: 'POST',
    path: '/api/leads/check-availability',
    tag: 'Availability',
    scope: 'read',
    transaction: false,
    // A check of one address is a read for its caller. The handler refuses background checks, which change leads.
    openWhenReadOnly: true,
    summary:
      'Check whether an address has iMessage; with leadIds or listId, check many leads in the background',
    limit: CHECKS,
    idempotent: true,
    body: AvailabilityBatch,
    responses: {
      200: AvailabilityResponse.extend({ address: z.string() }),
      202: AcceptedJob,
    },
    errors: ['READ_ONLY'],
    async handler({ caller, body, header, now, ...services }) {
      const { pools, secrets } = services;
      if (body.leadIds === undefined && body.listId === undefined) {
        const address = readAddress(body.address, caller);
        const result = await checkAddress(pools, caller.workspace, address, askCarrier(services), {
          now,
        });
        return { status: 200, body: { ...toAvailabilityResponse(result), address } };
      }
      requireWritable(caller);
      if (!mayChange(caller))
        throw new ApiError('INSUFFICIENT_SCOPE', 'The key lacks the scope send or manage', {
          required: 'send',
        });
      const request = {
        route: 'checkAvailability',
        key: header('idempotency-key'),
        hash: await requestHash(body),
      };
      const answer = await withTenant(pools, caller.workspace.id, (db) =>
        withIdempotencyKey(workspaceKeys(db), request, secrets, async () => {
          const leadIds = await leadsToCheck(db, body);
          if (leadIds.length === 0)
            throw invalid(body.leadIds ? 'leadIds' : 'listId', 'matches no lead of this workspace');
          const job = await insertJob(db, leadIds);
          wake(db, availabilityJobId(job.id), now, 'requested');
          return { status: 202, body: { success: true, jobId: job.id, total: job.leadIds.length } };
        }),
      );
      return { ...answer, status: 202, body: AcceptedJob.parse(answer.body) };
    },
  }),

  workspaceRoute({
    id: 'getAvailabilityJob',
    method: 'GET',
    path: '/api/leads/check-availability/jobs/{jobId}',
    tag: 'Availability',
    summary: 'Get the progress of a background check',
    params: z.object({ jobId: Id }),
    responses: { 200: AvailabilityJob },
    errors: ['NOT_FOUND'],
    async handler({ db, params }) {
      const job = await findJob(db, params.jobId);
      if (!job) throw new ApiError('NOT_FOUND', 'Job not found');
      const { leadIds, status, checked, available, unavailable, errors } = job;
      return {
        status: 200,
        body: { success: true, status, total: leadIds.length, checked, available, unavailable, errors },
      };
    },
  }),

  ...checkRoundRobinRoutes,
];

async function checkRoundRobin(
  text: string | undefined,
  { caller, now, ...services }: Services & { caller: WorkspaceCaller; now: Date },
) {
  const address = readAddress(text, caller);
  const result = await checkAddress(services.pools, caller.workspace, address, askCarrier(services), {
    now,
  });
  return {
    status: 200,
    body: { ...toAvailabilityResponse(result), address, lineId: result.lineId },
  } as const;
}
