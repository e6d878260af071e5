import { scryptSync } from 'node:crypto';
import type { DatabaseUrls } from '#db/pools.ts';

/**
 * The URLs of the processes' logins on one machine, where only the owner's is known: their passwords follow from the
 * owner's, so that every start on the same server comes to the same.
 */
export function databaseLogins(ownerUrl: string): DatabaseUrls {
  const as = (role: string): string => {
    const url = new URL(ownerUrl);
    const password = scryptSync(decodeURIComponent(url.password), role, 24).toString('base64url');
    return Object.assign(url, { username: role, password }).href;
  };
  return { tenantUrl: as('linepace_tenant'), systemUrl: as('linepace_system') };
}
