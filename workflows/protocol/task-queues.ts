/**
 * The task queues, by kind of work. Each has its own slots in a worker process, so that slow work does not delay the rest.
 */

/** Workflows, and activities that do short work in the database. */
export const MAIN_QUEUE = 'linepace';
/** Deliveries to the endpoints of tenants. */
export const WEBHOOK_QUEUE = 'webhooks';
/** Calls to the language model. */
export const MODEL_QUEUE = 'model';
/** Copies the files of contacts from carriers to storage. */
export const MEDIA_QUEUE = 'media';
/** What the product itself tells its users: emails, messages in chats, and what happens with their contacts in CRMs. */
export const MAIL_QUEUE = 'mail';
/** Calls to the payment provider. */
export const PAYMENTS_QUEUE = 'payments';
/** Long work that nobody waits for: retention, imports, checks of many leads. */
export const HOUSEKEEPING_QUEUE = 'housekeeping';
/** Calls to one carrier. */
export const carrierQueue = (carrier: string): string => `carrier-${carrier}`;
/** @param carrier null: the line is not connected, and work for it runs on the main queue. */
export const lineQueue = (carrier: string | null): string =>
  carrier === null ? MAIN_QUEUE : carrierQueue(carrier);

/** The rounds that one worker process takes. No build has it: the process takes them only while Temporal sends tasks to its build. */
export const processQueue = (process: string): string => `process-${process}`;

/** Moves the clocks of test mode, on the queue of the sends that it waits for. */
export const TEST_QUEUE = carrierQueue('test');

/** The task queues by their names in `WORKER_QUEUES`. Carriers use the names of their queues. */
export const QUEUES = {
  main: MAIN_QUEUE,
  webhooks: WEBHOOK_QUEUE,
  model: MODEL_QUEUE,
  media: MEDIA_QUEUE,
  mail: MAIL_QUEUE,
  payments: PAYMENTS_QUEUE,
  housekeeping: HOUSEKEEPING_QUEUE,
} as const;

/** The schedule-to-start timeout of a carrier's tasks. When it expires, the workflow looks up the line's carrier again. */
export const CARRIER_QUEUE_TIMEOUT = '30s';
/** The same if workers serve the queue but have no free slot, so that the task keeps its place. A change of the line waits for it. */
export const BUSY_QUEUE_TIMEOUT = '5 minutes';

/** Priorities of tasks in a task queue, 1 to 5: smaller numbers first. */
export const PRIORITY = {
  /** Somebody waits for the verdict. */
  order: 1,
  default: 3,
  /** Long work that nobody waits for. */
  housekeeping: 5,
} as const;
