import { scryptSync } from 'node:crypto';
import type { DatabaseUrls } from '#db/connection/pools.ts';

/**
 * The database URLs of the processes for `npm start`, which knows only the owner's. The passwords are derived from the
 * owner's, so every start with the same server uses the same ones.
 */
export function databaseLogins(ownerUrl: string): DatabaseUrls {
  const as = (role: string): string => {
    const url = new URL(ownerUrl);
    const password = scryptSync(decodeURIComponent(url.password), role, 24).toString('base64url');
    return Object.assign(url, { username: role, password }).href;
  };
  return { tenantUrl: as('linepace_tenant'), systemUrl: as('linepace_system') };
}
