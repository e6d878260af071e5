/** The task queues, said once. Carriers have one each, so that a slow one holds up nobody else's sends. */
export const MAIN_QUEUE = 'linepace';
/** Deliveries to webhooks: endpoints that hang keep rounds of these going, and nothing else waits behind them. */
export const WEBHOOK_QUEUE = 'webhooks';
export const carrierQueue = (carrier: string): string => `carrier-${carrier}`;
