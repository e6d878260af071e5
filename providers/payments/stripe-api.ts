import type { LineKind, Plan } from '#domain/billing/entitlement.ts';

export interface StripeOptions {
  apiKey: string;
  /** The signing secret of the webhook endpoint `POST /callbacks/payments`. */
  webhookSecret: string;
  /** Default: Stripe's. */
  baseUrl?: string;
  /** PEM file of the certificate authority of that server; null: a public one. */
  caFile?: string | null;
  /** Stripe's price ids. */
  prices: { plans: Record<Plan, string>; lines: Record<LineKind, string> };
}

/** The version of the API that the requests are written for, and whose objects are read. */
export const STRIPE_API_VERSION = '2026-10-28.endive';
