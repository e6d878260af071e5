import type { ResponseOf } from './routes.ts';
import { stopOfWorkspace, type Stop } from '#console/lib/line.ts';
import { useRead } from './queries.ts';

export type Identity = ResponseOf<'GET /api/workspace'>;

/** The current workspace and caller. The shell renders its pages once they are loaded. */
export function useIdentity(): Identity {
  const { data } = useRead('GET /api/workspace', {});
  if (!data) throw new Error('not signed in');
  return data;
}

export const useTimeZone = (): string => useIdentity().workspace.timezone;

/** Whether plans and payments exist here: for the workspace and for the agency of the user. */
export function useBilling(): { workspace: boolean; agency: boolean } {
  const { workspace, agency } = useIdentity();
  return { workspace: workspace.billingMode !== 'none', agency: agency?.billingMode !== 'none' };
}

/** Why the workspace sends nothing; null: it sends. */
export const useStop = (): Stop | null => stopOfWorkspace(useIdentity().workspace);

/**
 * Whether the caller pays for the workspace: the owner of its agency, who finds plans and the card on the tab Billing. Somebody
 * may own an agency and be a member of a workspace of another one.
 */
export function useIsPayer(): boolean {
  const { agency, workspace } = useIdentity();
  const enabled = agency?.role === 'owner' && agency.billingMode !== 'none';
  const clients = useRead('GET /api/agency/subaccounts', {}, { enabled }).data?.subAccounts;
  return enabled && clients?.some(({ idpOrgId }) => idpOrgId === workspace._id) === true;
}

/** Whether the API lets the caller change what only admins may: keys and an agency in its client's workspace may. */
export function useIsAdmin(): boolean {
  const { caller } = useIdentity();
  return caller.role === null || caller.role === 'org:admin';
}
