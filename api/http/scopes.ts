import type { KeyScope } from '#domain/accounts/key-scope.ts';
import type { TenantRoute } from './route.ts';

/** The resources whose changes belong to sending messages. */
const SENDING = new Set(['Attachments', 'Campaigns', 'Contacts', 'Conversations', 'Messages', 'Opt-outs']);

/**
 * A workspace key needs one of these scopes: those that the route declares, else `read` for a GET, `manage` for a DELETE,
 * and for other methods `send` or `manage`, depending on the resource.
 * @returns an empty list if no workspace key is accepted.
 */
export function scopesOf(
  route: Pick<TenantRoute, 'caller' | 'credential' | 'scope' | 'method' | 'tag'>,
): readonly KeyScope[] {
  if (route.caller === 'agency' || route.credential === 'session') return [];
  if (route.scope !== undefined) return [route.scope].flat();
  if (route.method === 'GET') return ['read'];
  return [route.method !== 'DELETE' && SENDING.has(route.tag) ? 'send' : 'manage'];
}
