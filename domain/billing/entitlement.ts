import { z } from 'zod';
import { type Channel, isPhoneChannel } from '../base/channel.ts';

export const PLANS = ['mini', 'starter', 'growth'] as const;
export const Plan = z.enum(PLANS);
export type Plan = z.infer<typeof Plan>;

export const SubscriptionStatus = z.enum(['none', 'active', 'past_due', 'canceled']);
export type SubscriptionStatus = z.infer<typeof SubscriptionStatus>;

/** While the subscription has one of these, what waits in a workspace is not sent until there is a paid one. */
export const SUSPENDED: readonly SubscriptionStatus[] = ['past_due', 'canceled'];

/**
 * Who pays: the saved card, or the invoice that the operator sends to the agency. `none`: nobody pays, so no plan is needed.
 */
export const BillingMode = z.enum(['card', 'invoice', 'none']);
export type BillingMode = z.infer<typeof BillingMode>;

/** Who pays for a workspace, and whether it is paid for. */
export interface Payment {
  billingMode: BillingMode;
  subscriptionStatus: SubscriptionStatus;
}

/** Whether a workspace needs no subscription, or has one, which may be past due. Otherwise, it accepts nothing to send. */
export const hasSubscription = ({ billingMode, subscriptionStatus: status }: Payment): boolean =>
  billingMode === 'none' || status === 'active' || status === 'past_due';

/** A workspace, or its twin for tests, which has the payment of the live one. */
interface PaidWorkspace extends Payment {
  liveWorkspaceId: string | null;
}

/** Whether a workspace accepts what is to be sent. A twin may be tried without a subscription, within limits of its own. */
export const acceptsSends = (workspace: PaidWorkspace): boolean =>
  workspace.liveWorkspaceId !== null || hasSubscription(workspace);

/** Whether this is the twin of a workspace that is not paid for. */
export const isUnpaidTest = (workspace: PaidWorkspace): boolean =>
  workspace.liveWorkspaceId !== null && !hasSubscription(workspace);

/** Whether a workspace may add lines. */
export const mayAddLines = ({ billingMode, subscriptionStatus }: Payment): boolean =>
  billingMode === 'none' || subscriptionStatus === 'active';

/** Whether nobody may change a workspace until its subscription is paid. */
export const isPastDue = ({ billingMode, subscriptionStatus }: Payment): boolean =>
  billingMode !== 'none' && subscriptionStatus === 'past_due';

/** Plans count lines by kind; SMS lines are phone lines. */
export type LineKind = 'phone' | 'email';
export const lineKind = (channel: Channel): LineKind => (isPhoneChannel(channel) ? 'phone' : 'email');

interface Terms {
  /** Lines that the plan includes. */
  included: number;
  /** Whether more lines can be bought. */
  addOns: boolean;
}

const PLAN_TERMS: Record<Plan, Record<LineKind, Terms>> = {
  mini: { phone: { included: 0, addOns: false }, email: { included: 1, addOns: true } },
  starter: { phone: { included: 1, addOns: false }, email: { included: 0, addOns: true } },
  growth: { phone: { included: 2, addOns: true }, email: { included: 0, addOns: true } },
};

const RaisedTerms = z.object({ included: z.int().min(0).max(10_000), addOns: z.boolean() }).partial();
/** Terms that the operator agreed with a workspace. They can raise the plan's terms, never lower them. */
export const LineOverrides = z.object({ phone: RaisedTerms, email: RaisedTerms }).partial();
export type LineOverrides = z.infer<typeof LineOverrides>;

/** The workspace's lines of one kind that are provisioning or active. */
export interface OwnedLines {
  total: number;
  /** Lines that count against the included lines because nobody paid for them. */
  included: number;
}

export type Entitlement = 'included' | 'add_on' | 'forbidden';

/** Whether a workspace may add a line, and whether its plan includes it. */
export function entitlement(
  plan: Plan,
  channel: Channel,
  held: OwnedLines,
  overrides: LineOverrides = {},
): Entitlement {
  const kind = lineKind(channel);
  const terms = PLAN_TERMS[plan][kind];
  const raised = overrides[kind] ?? {};
  const included = Math.max(terms.included, raised.included ?? 0);
  const addOns = terms.addOns || (raised.addOns ?? false);
  if (!addOns && held.total >= included) return 'forbidden';
  return held.included < included ? 'included' : 'add_on';
}

/** How a line request proceeds: at once, at once on the agency's invoice, or after payment. */
export type Grant = 'included' | 'invoiced' | 'payment';

/** @returns null if the plan does not allow the line. Where nobody pays, no plan limits the lines. */
export function grant(entitled: Entitlement, billingMode: BillingMode): Grant | null {
  if (billingMode === 'none') return 'included';
  if (entitled === 'forbidden') return null;
  if (entitled === 'included') return 'included';
  return billingMode === 'invoice' ? 'invoiced' : 'payment';
}
