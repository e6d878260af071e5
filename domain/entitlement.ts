import { z } from 'zod';
import { type Channel, isPhoneChannel } from './channel.ts';

export const PLANS = ['mini', 'starter', 'growth'] as const;
export const Plan = z.enum(PLANS);
export type Plan = z.infer<typeof Plan>;

/** Plans count lines by kind: SMS lines are phone lines. */
export type LineKind = 'phone' | 'email';
export const lineKind = (channel: Channel): LineKind => (isPhoneChannel(channel) ? 'phone' : 'email');

interface Terms {
  /** Lines that cost nothing beyond the plan. */
  included: number;
  /** Whether more can be had for money. */
  addOns: boolean;
}

/** Plan entitlements for lines. */
export const PLAN_TERMS: Record<Plan, Record<LineKind, Terms>> = {
  mini: { phone: { included: 0, addOns: false }, email: { included: 1, addOns: true } },
  starter: { phone: { included: 1, addOns: false }, email: { included: 0, addOns: true } },
  growth: { phone: { included: 2, addOns: true }, email: { included: 0, addOns: true } },
};

const RaisedTerms = z.object({ included: z.int().min(0).max(10_000), addOns: z.boolean() }).partial();
/** What a workspace has beyond its plan, by agreement with the operator: it can raise the plan's terms only. */
export const LineOverrides = z.object({ phone: RaisedTerms, email: RaisedTerms }).partial();
export type LineOverrides = z.infer<typeof LineOverrides>;

/** Lines of one kind that are provisioning or active; a canceled or failed request uses none. */
export interface HeldLines {
  total: number;
  /** Those of them that take up an included line, since nobody paid for them. */
  included: number;
}

export type Entitlement = 'included' | 'add_on' | 'forbidden';

/** Whether a workspace may have one more line, and whether its plan covers it. */
export function entitlement(
  plan: Plan,
  channel: Channel,
  held: HeldLines,
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

export type BillingMode = 'card' | 'invoice';

/** How a request goes on: at once, at once on the agency's invoice, or after a payment. */
export type Grant = 'included' | 'invoiced' | 'payment';

/** @returns null when the plan never allows the line. */
export function grant(entitled: Entitlement, billingMode: BillingMode): Grant | null {
  if (entitled === 'forbidden') return null;
  if (entitled === 'included') return 'included';
  return billingMode === 'invoice' ? 'invoiced' : 'payment';
}
