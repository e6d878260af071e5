/**
 * The task queues, by kind of work: each has slots of its own at every worker, so that nothing slow holds up anything
 * else.
 */

/** Workflows, and activities that do short work in the database. */
export const MAIN_QUEUE = 'linepace';
/** Deliveries to the endpoints of tenants. */
export const WEBHOOK_QUEUE = 'webhooks';
/** Questions to the language model. */
export const MODEL_QUEUE = 'model';
/** Files that contacts sent, taken from carriers into storage. */
export const MEDIA_QUEUE = 'media';
/** The product's own emails. */
export const MAIL_QUEUE = 'mail';
/** Whatever is asked of the payment provider. */
export const PAYMENTS_QUEUE = 'payments';
/** What may take long and nobody waits for: trimming, imports, checks of many leads. */
export const HOUSEKEEPING_QUEUE = 'housekeeping';
/** Everything that is asked of one carrier. */
export const carrierQueue = (carrier: string): string => `carrier-${carrier}`;
/** @param carrier null: the line is at none, so that nobody serves a queue for it. */
export const lineQueue = (carrier: string | null): string =>
  carrier === null ? MAIN_QUEUE : carrierQueue(carrier);

/** By the names under which a worker process is told to serve them; carriers go by those of their queues. */
export const QUEUES = {
  main: MAIN_QUEUE,
  webhooks: WEBHOOK_QUEUE,
  model: MODEL_QUEUE,
  media: MEDIA_QUEUE,
  mail: MAIL_QUEUE,
  payments: PAYMENTS_QUEUE,
  housekeeping: HOUSEKEEPING_QUEUE,
} as const;

/** A carrier's task that no worker takes within this is given up, and the line's carrier looked up again. */
export const CARRIER_PATIENCE = '30s';
