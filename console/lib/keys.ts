/** Where the keys of a workspace and those of an agency are managed, and which audit log records it. */
export const KEYS_OF = {
  workspace: {
    list: 'GET /api/keys',
    create: 'POST /api/keys',
    revoke: 'DELETE /api/keys/{id}',
    log: 'GET /api/audit-log',
  },
  agency: {
    list: 'GET /api/agency/keys',
    create: 'POST /api/agency/keys',
    revoke: 'DELETE /api/agency/keys/{id}',
    log: 'GET /api/agency/audit-log',
  },
} as const;
export type KeyOwner = keyof typeof KEYS_OF;
