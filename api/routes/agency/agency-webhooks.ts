import { z } from 'zod';
import {
  type Client,
  findClient,
  clientOfWebhook,
  inWorkspace,
  listClients,
} from '#db/queries/accounts/agency.ts';
import { agencyKeyExpiry } from '#db/queries/accounts/api-keys.ts';
import { requireRoomForWebhooks } from '#db/queries/accounts/limits.ts';
import { deleteWebhook, listWebhooksOf, presentWebhook } from '#db/queries/events/webhooks.ts';
import { Id, WorkspaceId } from '#domain/base/ids.ts';
import { Webhook, WebhookInput } from '#domain/events/webhook.ts';
import { ApiError, invalid } from '#api/http/errors.ts';
import { ClientPageQuery, NextCursor, page } from '#api/http/page.ts';
import { agencyRoute } from '#api/http/route.ts';
import { webhookNotFound } from '../events/webhooks.ts';
import { refuseReadOnly } from '#api/http/read-only.ts';
import { checkWebhookUrl, registerWebhooks } from '../events/webhook-registration.ts';

// The lines and campaigns of a filter belong to one client.
const AgencyWebhookInput = WebhookInput.omit({ lineIds: true, campaignIds: true })
  .extend({
    workspaceId: z.string().min(1).optional().meta({ description: 'One client, or `all`.' }),
    allWorkspaces: z.boolean().optional().meta({ description: 'The same as `workspaceId: "all"`.' }),
  })
  .refine(({ workspaceId = 'all', allWorkspaces }) => workspaceId === 'all' || allWorkspaces !== true, {
    path: ['workspaceId'],
    message: 'must not be given together with allWorkspaces',
  })
  .meta({ id: 'AgencyWebhookInput' });

export const agencyWebhookRoutes = [
  agencyRoute({
    id: 'listAgencyWebhooks',
    method: 'GET',
    path: '/api/agency/webhooks',
    tag: 'Agency',
    summary: 'List the webhooks of all clients, and the clients without one',
    description: 'A page contains the webhooks of `limit` clients.',
    query: ClientPageQuery,
    responses: {
      200: z.object({
        success: z.literal(true),
        webhooks: z.array(Webhook),
        workspacesWithoutWebhook: z.array(z.object({ workspaceId: WorkspaceId, name: z.string() })),
        nextCursor: NextCursor,
      }),
    },
    async handler({ db, caller, query }) {
      const { items, nextCursor } = page(await listClients(db, caller.agency.id, query), query.limit);
      const rows = await listWebhooksOf(
        db,
        items.map(({ id }) => id),
      );
      const having = new Set(rows.map(({ workspaceId }) => workspaceId));
      const workspacesWithoutWebhook = items
        .filter(({ id }) => !having.has(id))
        .map(({ id, name }) => ({ workspaceId: id, name }));
      const webhooks = rows.map((row) => presentWebhook(row));
      return { status: 200, body: { success: true, webhooks, workspacesWithoutWebhook, nextCursor } };
    },
  }),

  agencyRoute({
    id: 'createAgencyWebhook',
    method: 'POST',
    path: '/api/agency/webhooks',
    tag: 'Agency',
    summary: 'Register a webhook for one client, or for all',
    description:
      'Each webhook has its own signing secret, which is returned only here. Those that an expiring key makes end with the key, unless an admin of the client activates them.',
    idempotent: true,
    body: AgencyWebhookInput,
    responses: {
      201: z.object({ success: z.literal(true), webhooks: z.array(Webhook.extend({ secret: z.string() })) }),
    },
    errors: ['WORKSPACE_NOT_FOUND', 'URL_NOT_ALLOWED', 'LIMIT_REACHED', 'READ_ONLY'],
    check: ({ body, egress }) => checkWebhookUrl(body.url, { egress }),
    audit: {
      action: 'webhook.created',
      target: 'webhook',
      targets: ({ answer }) => answer.webhooks.map(({ _id, workspaceId }) => ({ id: _id, workspaceId })),
      changes: ['workspaceId', 'allWorkspaces', 'name', 'events', 'tags', 'retries', 'isActive'],
    },
    async handler({ db, caller, body, secrets }) {
      const { workspaceId, allWorkspaces, ...input } = body;
      let clients: Client[];
      if (allWorkspaces === true || workspaceId === 'all') {
        clients = await listClients(db, caller.agency.id);
      } else {
        if (workspaceId === undefined) throw invalid('workspaceId', 'is required: a workspace, or "all"');
        const client = await findClient(db, caller.agency.id, workspaceId);
        if (!client) throw new ApiError('WORKSPACE_NOT_FOUND');
        clients = [client];
      }
      refuseReadOnly(clients);
      const ids = clients.map(({ id }) => id);
      await requireRoomForWebhooks(db, ids);
      const { via, agency, actor } = caller;
      const registeredByKeyId = via === 'key' ? actor.id : null;
      const endsAt = via === 'key' ? await agencyKeyExpiry(db, agency.id, registeredByKeyId) : null;
      const webhooks = await registerWebhooks(db, ids, input, { secrets }, { endsAt, registeredByKeyId });
      return { status: 201, body: { success: true, webhooks } };
    },
  }),

  agencyRoute({
    id: 'deleteAgencyWebhook',
    method: 'DELETE',
    path: '/api/agency/webhooks/{id}',
    tag: 'Agency',
    summary: 'Delete a webhook of a client',
    params: z.object({ id: Id }),
    responses: { 200: z.object({ success: z.literal(true) }) },
    errors: ['READ_ONLY'],
    audit: { action: 'webhook.deleted', target: 'webhook', targets: 'handler' },
    async handler({ db, caller, params, audit }) {
      const client = await clientOfWebhook(db, caller.agency.id, params.id);
      if (!client) throw webhookNotFound();
      refuseReadOnly([client]);
      await deleteWebhook(inWorkspace(db, client), params.id);
      await audit(db, [{ id: params.id, workspaceId: client.id }]);
      return { status: 200, body: { success: true } };
    },
  }),
];
