import { z } from 'zod';
import {
  type Client,
  findSubAccount,
  inWorkspace,
  insertSubAccount,
  listClients,
  listSubAccounts,
} from '#db/queries/accounts/agency.ts';
import { agencyKeyExpiry, insertWorkspaceKey } from '#db/queries/accounts/api-keys.ts';
import { requireAgencyRoom } from '#db/queries/accounts/limits.ts';
import { changeEmailPreferencesOf, listEmailPreferences } from '#db/queries/events/email-preferences.ts';
import { SubAccount, SubAccountInput } from '#domain/accounts/agency.ts';
import { newApiKey } from '#domain/accounts/api-key.ts';
import { KEY_SCOPES } from '#domain/accounts/key-scope.ts';
import { EmailPreferences, setAllPreferences } from '#domain/events/email-preferences.ts';
import { WorkspaceId } from '#domain/base/ids.ts';
import { ClientPageQuery, NextCursor, page } from '#api/http/page.ts';
import { agencyRoute } from '#api/http/route.ts';
import { refuseReadOnly } from '#api/http/read-only.ts';

const PreferencesByWorkspace = z.object({
  success: z.literal(true),
  workspaces: z.array(
    z.object({ workspaceId: WorkspaceId, name: z.string(), preferences: EmailPreferences }),
  ),
  nextCursor: NextCursor,
});

const byWorkspace = (clients: readonly Client[], preferences: readonly EmailPreferences[]) =>
  clients.flatMap(({ id, name }, index) => {
    const ofClient = preferences[index];
    return ofClient ? [{ workspaceId: id, name, preferences: ofClient }] : [];
  });

export const agencyClientRoutes = [
  agencyRoute({
    id: 'listSubAccounts',
    method: 'GET',
    path: '/api/agency/subaccounts',
    tag: 'Agency',
    summary: "List the agency's workspaces",
    query: ClientPageQuery,
    responses: {
      200: z.object({ success: z.literal(true), subAccounts: z.array(SubAccount), nextCursor: NextCursor }),
    },
    async handler({ db, caller, query }) {
      const rows = await listSubAccounts(db, caller.agency.id, query);
      const { items, nextCursor } = page(
        rows.map((row) => ({ ...row, id: row.idpOrgId })),
        query.limit,
      );
      return { status: 200, body: { success: true, subAccounts: items, nextCursor } };
    },
  }),

  agencyRoute({
    id: 'createSubAccount',
    method: 'POST',
    path: '/api/agency/subaccounts',
    tag: 'Agency',
    summary: 'Create a workspace; its first key is returned only here',
    idempotent: true,
    body: SubAccountInput,
    responses: {
      201: z.object({
        success: z.literal(true),
        subAccount: SubAccount,
        workspaceApiKey: z.string().meta({ description: 'A key of the new workspace, returned only here.' }),
      }),
    },
    errors: ['LIMIT_REACHED'],
    audit: {
      action: 'workspace.created',
      target: 'workspace',
      targets: ({ answer }) => [{ id: answer.subAccount.idpOrgId }],
      changes: ['name', 'timezone', 'country'],
    },
    async handler({ db, caller, body }) {
      await requireAgencyRoom(db, caller.agency.id, 'workspaces');
      await requireAgencyRoom(db, caller.agency.id, 'newWorkspaces');
      const { workspaceId, ownerId } = await insertSubAccount(db, caller.agency.id, body);
      const { key, ...stored } = newApiKey('workspace');
      await insertWorkspaceKey(inWorkspace(db, { id: workspaceId }), stored, {
        name: 'First key',
        // It does not outlive the key that made it.
        expiresAt: caller.via === 'key' ? await agencyKeyExpiry(db, caller.agency.id, caller.actor.id) : null,
        userId: ownerId,
        scopes: KEY_SCOPES,
        allowedIps: null,
        mode: 'live',
      });
      const subAccount = await findSubAccount(db, caller.agency.id, workspaceId);
      if (!subAccount) throw new Error('the inserted workspace was not found');
      return { status: 201, body: { success: true, subAccount, workspaceApiKey: key } };
    },
  }),

  agencyRoute({
    id: 'listAgencyEmailPreferences',
    method: 'GET',
    path: '/api/agency/email-preferences',
    tag: 'Agency',
    summary: 'Get the email preferences of all workspaces',
    query: ClientPageQuery,
    responses: { 200: PreferencesByWorkspace },
    async handler({ db, caller, query }) {
      const { items, nextCursor } = page(await listClients(db, caller.agency.id, query), query.limit);
      const preferences = await listEmailPreferences(
        db,
        items.map(({ id }) => id),
      );
      return {
        status: 200,
        body: { success: true, workspaces: byWorkspace(items, preferences), nextCursor },
      };
    },
  }),

  agencyRoute({
    id: 'updateAgencyEmailPreferences',
    method: 'POST',
    path: '/api/agency/email-preferences',
    tag: 'Agency',
    summary: 'Turn all emails on or off in every workspace',
    body: z.object({ enabled: z.boolean() }),
    responses: { 200: PreferencesByWorkspace },
    errors: ['READ_ONLY'],
    audit: {
      action: 'email_preferences.updated',
      target: 'workspace',
      targets: ({ answer }) => answer.workspaces.map(({ workspaceId }) => ({ id: workspaceId, workspaceId })),
      changes: ['enabled'],
    },
    async handler({ db, caller, body }) {
      const clients = await listClients(db, caller.agency.id);
      refuseReadOnly(clients);
      const preferences = await changeEmailPreferencesOf(
        db,
        clients.map(({ id }) => id),
        setAllPreferences(body.enabled),
      );
      // All at once, so that the user sees that none is missing.
      const workspaces = byWorkspace(clients, preferences);
      return { status: 200, body: { success: true, workspaces, nextCursor: null } };
    },
  }),
];
