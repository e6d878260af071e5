/** Where the keys of a workspace and those of an agency are managed. */
export const KEYS_OF = {
  workspace: {
    list: 'GET /api/keys',
    create: 'POST /api/keys',
    revoke: 'DELETE /api/keys/{id}',
  },
  agency: {
    list: 'GET /api/agency/keys',
    create: 'POST /api/agency/keys',
    revoke: 'DELETE /api/agency/keys/{id}',
  },
} as const;
export type KeyOwner = keyof typeof KEYS_OF;
