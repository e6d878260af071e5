import { insertAuditEntry } from '#db/queries/accounts/audit-log.ts';
import { linkOrganization } from '#db/queries/accounts/provider-organizations.ts';
import { withSystem } from '#db/connection/transactions.ts';
import { type Command, Refused, WrongUsage } from './ops-command.ts';

/** Makes an organization of the identity provider that of a workspace. */
export const linkOrganizationCommand: Command = {
  argument: 'WORKSPACE',
  options: '--organization NAME --by NAME [--reason TEXT]',
  summary:
    'people whom the identity provider names in the organization, by its id or name, sign in to the workspace',
  needsTemporal: false,
  async run({ pools }, workspaceId, { organization = '', by = '', reason = null }) {
    if (organization.trim() === '') throw new WrongUsage('--organization NAME is required');
    if (by.trim() === '') throw new WrongUsage('--by NAME is required, for the audit log');
    await withSystem(pools, async (db) => {
      if (!(await linkOrganization(db, organization, workspaceId)))
        throw new Refused('NOT_FOUND', `There is no workspace ${workspaceId}`);
      await insertAuditEntry(
        { db, workspaceId },
        {
          actor: { type: 'operator', id: null, name: by },
          channel: 'operator',
          action: 'workspace.updated',
          target: { type: 'workspace', id: workspaceId },
          reason,
          changes: { organization },
        },
      );
    });
    return { workspaceId, organization };
  },
};
