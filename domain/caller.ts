/** Who is asking, obtained from a verified credential and nothing else. */
export type Caller = WorkspaceCaller | AgencyCaller;

export interface WorkspaceCaller {
  kind: 'workspace';
  via: 'key' | 'session';
  workspace: CallerWorkspace;
  /** The signed-in user, or the one who made the key. */
  userId: string | null;
  /** Of a session; null for keys. */
  role: string | null;
}

/** What nearly every request needs of its workspace, read along with the credential. */
export interface CallerWorkspace {
  id: string;
  agencyId: string | null;
  timezone: string;
  country: string;
  subscriptionStatus: 'none' | 'active' | 'past_due' | 'canceled';
}

export interface AgencyCaller {
  kind: 'agency';
  via: 'key' | 'session';
  agency: { id: string; isActive: boolean; billingMode: 'card' | 'invoice' };
  userId: string | null;
  /** Of a session; null for keys. */
  role: 'owner' | 'co_admin' | null;
}
