import { secretContext } from '../secret-box.ts';

/** Where the token of a connection is stored. */
export const crmTokenContext = (workspaceId: string, connectionId: string): string =>
  secretContext('crm', workspaceId, connectionId);
