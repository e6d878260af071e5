import type { AuditActor } from './audit.ts';
import type { BillingMode, Payment } from '../billing/entitlement.ts';
import type { KeyLimits } from './key-scope.ts';

/** The authenticated caller, derived only from a verified credential. */
export type Caller = WorkspaceCaller | AgencyCaller;

export interface WorkspaceCaller {
  kind: 'workspace';
  via: 'key' | 'session';
  /** The key or the user, as the audit log names them. */
  actor: AuditActor;
  workspace: CallerWorkspace;
  /** What the key may do and from where; null for sessions. */
  key: KeyLimits | null;
  /** The signed-in user, or the user who created the key. */
  userId: string | null;
  /** The role in the session; null for keys. */
  role: string | null;
  /** Acts as a user of the workspace's agency, and not as a member. */
  isOfAgency?: true;
}

/** The workspace fields that nearly every request needs, read together with the credential. */
export interface CallerWorkspace extends Payment {
  id: string;
  agencyId: string | null;
  timezone: string;
  country: string;
  /** The workspace whose twin for tests this is; null: it is live. */
  liveWorkspaceId: string | null;
  /** Whether its quiet hours apply to `POST /api/drip`. */
  keepsDripsQuiet: boolean;
  /** An operator has suspended it: it sends nothing and refuses changes. */
  suspended: boolean;
}

export interface AgencyCaller {
  kind: 'agency';
  via: 'key' | 'session';
  actor: AuditActor;
  agency: { id: string; isActive: boolean; billingMode: BillingMode };
  userId: string | null;
  /** The role in the session; null for keys. */
  role: 'owner' | 'co_admin' | null;
}
