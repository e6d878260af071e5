import { z } from 'zod';
import { type Client, findClient, inWorkspace, listClients, workspaceOfWebhook } from '#db/queries/agency.ts';
import { requireRoom } from '#db/queries/limits.ts';
import { deleteWebhook, listWebhooks, presentWebhook } from '#db/queries/webhooks.ts';
import { Id, WorkspaceId } from '#domain/ids.ts';
import { Webhook, WebhookInput } from '#domain/webhook.ts';
import { ApiError, invalid } from '../http/errors.ts';
import { agencyRoute } from '../http/route.ts';
import { checkWebhookUrl, registerWebhook } from '../webhook-registration.ts';

const AgencyWebhookInput = WebhookInput.extend({
  workspaceId: z.string().optional().meta({ description: 'One client, or `all`.' }),
  allWorkspaces: z.boolean().optional().meta({ description: 'The same as `workspaceId: "all"`.' }),
}).meta({ id: 'AgencyWebhookInput' });

export const agencyWebhookRoutes = [
  agencyRoute({
    id: 'listAgencyWebhooks',
    method: 'GET',
    path: '/api/agency/webhooks',
    tag: 'Agency',
    summary: 'List the webhooks of all clients, and the clients without one',
    responses: {
      200: z.object({
        success: z.literal(true),
        webhooks: z.array(Webhook),
        workspacesWithoutWebhook: z.array(z.object({ workspaceId: WorkspaceId, name: z.string() })),
      }),
    },
    async handler({ db, caller }) {
      const webhooks: Webhook[] = [];
      const workspacesWithoutWebhook: { workspaceId: string; name: string }[] = [];
      for (const client of await listClients(db, caller.agency.id)) {
        const rows = await listWebhooks(inWorkspace(db, client));
        webhooks.push(...rows.map(presentWebhook));
        if (rows.length === 0) workspacesWithoutWebhook.push({ workspaceId: client.id, name: client.name });
      }
      return { status: 200, body: { success: true, webhooks, workspacesWithoutWebhook } };
    },
  }),

  agencyRoute({
    id: 'createAgencyWebhook',
    method: 'POST',
    path: '/api/agency/webhooks',
    tag: 'Agency',
    summary: 'Register a webhook for one client, or for all',
    description: 'Each webhook has its own signing secret, which is returned only here.',
    idempotent: true,
    body: AgencyWebhookInput,
    responses: {
      201: z.object({ success: z.literal(true), webhooks: z.array(Webhook.extend({ secret: z.string() })) }),
    },
    errors: ['WORKSPACE_NOT_FOUND', 'URL_NOT_ALLOWED', 'LIMIT_REACHED'],
    check: ({ body, egress }) => checkWebhookUrl(body.url, { egress }),
    audit: {
      action: 'webhook.created',
      target: 'webhook',
      targets: ({ answer }) => answer.webhooks.map(({ _id, workspaceId }) => ({ id: _id, workspaceId })),
      changes: ['workspaceId', 'allWorkspaces', 'name', 'events'],
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
      const webhooks = [];
      for (const client of clients) {
        await requireRoom(inWorkspace(db, client), 'webhooks');
        webhooks.push(await registerWebhook(inWorkspace(db, client), input, { secrets }));
      }
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
    audit: { action: 'webhook.deleted', target: 'webhook', targets: 'handler' },
    async handler({ db, caller, params, audit }) {
      const workspaceId = await workspaceOfWebhook(db, caller.agency.id, params.id);
      if (workspaceId === null) throw new ApiError('NOT_FOUND', 'Webhook not found');
      await deleteWebhook(inWorkspace(db, { id: workspaceId }), params.id);
      await audit(db, [{ id: params.id, workspaceId }]);
      return { status: 200, body: { success: true } };
    },
  }),
];
