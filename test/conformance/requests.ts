import type { TenantRoute } from '#api/http/route.ts';
import { routes } from '#api/routes.ts';
import { newId, newUserId } from '#domain/base/ids.ts';
import { type ApiResponse, apiClient } from '#test/support/client.ts';

/** Every endpoint that requires a credential. */
export const tenantRoutes = routes.filter((route): route is TenantRoute => route.caller !== 'anyone');

/** The path of a route with its parameters filled in; missing ones become ids that do not exist. */
export const pathOf = (route: Pick<TenantRoute, 'path'>, params: Record<string, string> = {}): string =>
  route.path.replaceAll(/\{(\w+)\}/g, (_, name: string) =>
    encodeURIComponent(params[name] ?? (name === 'userId' ? newUserId() : newId())),
  );

/** Sends one request to a route, by default with an empty object if the route takes a body. */
export async function call(
  url: string,
  route: TenantRoute,
  authorization: string | null,
  {
    path = pathOf(route),
    body = {},
    headers = {},
  }: { path?: string; body?: unknown; headers?: Record<string, string> } = {},
): Promise<ApiResponse> {
  const credential = authorization === null ? {} : { authorization };
  return apiClient(url, '')(route.method, path, route.body ? body : undefined, { ...credential, ...headers });
}
