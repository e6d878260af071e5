import type { Client } from '@temporalio/client';
import type { Order } from '#workflows/protocol/updates.ts';
import type { Pools } from '#db/connection/pools.ts';
import { Instant } from '#domain/base/moment.ts';
import type { BillingMode } from '#domain/billing/entitlement.ts';

/** The dependencies of a command. */
export interface Session {
  client: Client;
  pools: Pools;
  namespace: string;
  codecKeys: string | null;
  publicUrl: string;
  /** The origin of the Temporal UI; null: unknown. */
  temporalUi: string | null;
  newBillingMode: Exclude<BillingMode, 'invoice'>;
  hasIdentityProvider: boolean;
}

/** What follows `--`. */
export interface Options {
  by?: string | undefined;
  reason?: string | undefined;
  message?: string | undefined;
  action?: string | undefined;
  ramp?: string | undefined;
  wait?: string | undefined;
  query?: string | undefined;
  from?: string | undefined;
  until?: string | undefined;
  limit?: string | undefined;
  workspace?: string | undefined;
  agency?: string | undefined;
  owner?: string | undefined;
  role?: string | undefined;
  plan?: string | undefined;
  billing?: string | undefined;
  timezone?: string | undefined;
  country?: string | undefined;
  organization?: string | undefined;
  history?: boolean | undefined;
  retry?: string | undefined;
  drop?: string | undefined;
  yes?: boolean | undefined;
  'no-replay'?: boolean | undefined;
  line?: string | undefined;
  campaign?: string | undefined;
  status?: string | undefined;
  since?: string | undefined;
  to?: string | undefined;
}

export interface Command {
  /** The name of its argument, which ends in `_ID` if it has to be an id; null: it takes none. */
  argument: string | null;
  options?: string;
  summary: string;
  /** false: it works while Temporal is unavailable. */
  needsTemporal?: boolean;
  /** true: its transactions wake workflows at once if Temporal responds. Otherwise, the sweep does within minutes. */
  wakes?: boolean;
  /** The timeout of all its calls to Temporal together; null: each call has its own. */
  timeoutMs?: number | null;
  run(session: Session, id: string, options: Options): Promise<unknown>;
}

/** The command was refused: printed instead of a verdict. */
export class Refused extends Error {
  readonly code: string;
  readonly details: readonly unknown[];

  constructor(code: string, message: string, details: readonly unknown[] = []) {
    super(message);
    this.code = code;
    this.details = details;
  }
}

/** The arguments of the command are wrong. */
export class WrongUsage extends Error {}

/**
 * The time that an option gives, with its offset: as a date, "5" would be a day of 2001, and a command would take all that came since.
 * @throws WrongUsage
 */
export function timeOf(given: string | undefined, option: string): Date {
  const instant = Instant.safeParse(given);
  if (!instant.success)
    throw new WrongUsage(`${option} must be a time with its offset, as 2026-03-05T14:20:00Z`);
  return new Date(instant.data);
}

export const usageOf = (name: string, { argument, options }: Command): string =>
  ['npm run ops --', name, argument, options].filter((part) => part !== null && part !== undefined).join(' ');

/** Who orders it and why may be said of each command, also where nothing is recorded. */
const OF_ALL: readonly string[] = ['by', 'reason'] satisfies (keyof Options)[];

/** Whether an option has an effect. One that has none would be trusted: `pause-all-lines --line LINE_ID` pauses every line. */
export const takesOption = ({ options = '' }: Command, option: string): boolean =>
  OF_ALL.includes(option) || options.split(/[^\w-]+/).includes(`--${option}`);

type OrderCommand = Omit<Command, 'run'> & {
  run(session: Session, id: string, order: Order, options: Options): Promise<unknown>;
};

/** A command whose `--by` and `--reason` the audit log records. */
export function orderCommand({ run, options, ...command }: OrderCommand): Command {
  return {
    ...command,
    options: [options, '--by NAME [--reason TEXT]'].filter((part) => part !== undefined).join(' '),
    run: (session, id, given) => run(session, id, orderOf(given), given),
  };
}

function orderOf({ by, reason }: Options): Order {
  if (by === undefined || by.trim() === '') throw new WrongUsage('--by NAME is required, for the audit log');
  return { by, ...(reason !== undefined && { reason }) };
}
