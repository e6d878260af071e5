import { z } from 'zod';
import { inWorkspace, insertSubAccount, listClients, listSubAccounts } from '#db/queries/agency.ts';
import { insertWorkspaceKey } from '#db/queries/api-keys.ts';
import { requireAgencyRoom } from '#db/queries/limits.ts';
import { changeEmailPreferences, findEmailPreferences } from '#db/queries/email-preferences.ts';
import { SubAccount, SubAccountInput } from '#domain/agency.ts';
import { newApiKey } from '#domain/api-key.ts';
import { KEY_SCOPES } from '#domain/key-scope.ts';
import { EmailPreferences, setAllPreferences } from '#domain/email-preferences.ts';
import { WorkspaceId } from '#domain/ids.ts';
import { agencyRoute } from '../http/route.ts';

const PreferencesByWorkspace = z.object({
  success: z.literal(true),
  workspaces: z.array(
    z.object({ workspaceId: WorkspaceId, name: z.string(), preferences: EmailPreferences }),
  ),
});

export const agencyClientRoutes = [
  agencyRoute({
    id: 'listSubAccounts',
    method: 'GET',
    path: '/api/agency/subaccounts',
    tag: 'Agency',
    summary: "List the agency's workspaces",
    responses: { 200: z.object({ success: z.literal(true), subAccounts: z.array(SubAccount) }) },
    async handler({ db, caller }) {
      return {
        status: 200,
        body: { success: true, subAccounts: await listSubAccounts(db, caller.agency.id) },
      };
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
        expiresAt: null,
        userId: ownerId,
        scopes: KEY_SCOPES,
        allowedIps: null,
        mode: 'live',
      });
      const [subAccount] = await listSubAccounts(db, caller.agency.id, workspaceId);
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
    responses: { 200: PreferencesByWorkspace },
    async handler({ db, caller }) {
      const workspaces = [];
      for (const client of await listClients(db, caller.agency.id)) {
        const preferences = await findEmailPreferences(inWorkspace(db, client));
        workspaces.push({ workspaceId: client.id, name: client.name, preferences });
      }
      return { status: 200, body: { success: true, workspaces } };
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
    audit: {
      action: 'email_preferences.updated',
      target: 'workspace',
      targets: ({ answer }) => answer.workspaces.map(({ workspaceId }) => ({ id: workspaceId, workspaceId })),
      changes: ['enabled'],
    },
    async handler({ db, caller, body }) {
      const workspaces = [];
      for (const client of await listClients(db, caller.agency.id)) {
        const preferences = await changeEmailPreferences(
          inWorkspace(db, client),
          setAllPreferences(body.enabled),
        );
        workspaces.push({ workspaceId: client.id, name: client.name, preferences });
      }
      return { status: 200, body: { success: true, workspaces } };
    },
  }),
];
