import { sql } from 'slonik';
import { z } from 'zod';
import { currentTime } from '#domain/base/clock.ts';
import {
  BillingMode,
  entitlement,
  grant,
  type Grant,
  type OwnedLines,
  lineKind,
  LineOverrides,
  Plan,
  SubscriptionStatus,
} from '#domain/billing/entitlement.ts';
import type { LineRequest, LineRequestInput } from '#domain/lines/line-request.ts';
import {
  INVOICE_STATUSES,
  type LineRequestState,
  startLineRequest,
} from '#domain/lines/line-request-state.ts';
import type { Channel } from '#domain/base/channel.ts';
import { DEFAULT_LIMITS } from '#domain/sending/line-limits.ts';
import type { RequestSource } from '#domain/lines/line.ts';
import { usRegistrationOf } from '#domain/lines/us-registration.ts';
import { lineRequestId } from '#workflows/protocol/workflow-ids.ts';
import { LineRow } from './lines.ts';
import { addLookup } from '../accounts/lookups.ts';
import { IdRow, NoRows } from '#db/connection/rows.ts';
import type { TenantDb } from '#db/connection/transactions.ts';
import { wake } from '#db/wakes/wakes.ts';

const LineRequestRow = LineRow.extend({
  requestRound: z.int(),
  requestedEmail: z.string().nullable(),
  requestedAreaCode: z.string().nullable(),
  requestedCountry: z.string().nullable(),
  failureReason: z.string().nullable(),
});

const InvoiceRow = z.object({
  round: z.int(),
  status: z.enum(INVOICE_STATUSES),
  invoiceId: z.string().nullable(),
  paymentUrl: z.string().nullable(),
  checkedAt: z.date().nullable(),
});
export type InvoiceRow = z.infer<typeof InvoiceRow>;

/** A line with its request and invoices, oldest first. */
export interface StoredLineRequest extends z.infer<typeof LineRequestRow> {
  invoices: InvoiceRow[];
}

/** What determines whether a workspace may add a line. */
const BillingRow = z.object({
  plan: Plan.nullable(),
  subscriptionStatus: SubscriptionStatus,
  billingMode: BillingMode,
  overrides: LineOverrides,
  /** At the payment provider. */
  subscriptionId: z.string().nullable(),
});
type BillingRow = z.infer<typeof BillingRow>;

const billingOf = (db: TenantDb) => sql.fragment`
  select plan, subscription_status, current_billing_mode() billing_mode, line_overrides overrides,
    payment_subscription_id subscription_id
  from workspaces where id = ${db.workspaceId}`;

export const findBilling = (db: TenantDb): Promise<BillingRow> =>
  db.one(sql.type(BillingRow)`${billingOf(db)}`);

/** Locks the workspace's billing, so that two requests cannot both take the last included line. */
export const lockBilling = (db: TenantDb): Promise<BillingRow> =>
  db.one(sql.type(BillingRow)`${billingOf(db)} for no key update`);

/** How another line of this channel would be paid for; null if a plan is needed, and there is none or it does not allow the line. */
export async function grantFor(
  db: TenantDb,
  { plan, billingMode, overrides }: BillingRow,
  channel: Channel,
): Promise<Grant | null> {
  if (billingMode === 'none') return 'included';
  if (plan === null) return null;
  return grant(entitlement(plan, channel, await countOwnedLines(db, channel), overrides), billingMode);
}

const LineCountsRow = z.object({ total: z.int(), included: z.int() });

async function countOwnedLines(db: TenantDb, channel: Channel): Promise<OwnedLines> {
  const channels = lineKind(channel) === 'email' ? ['email'] : ['imessage', 'sms'];
  return db.one(sql.type(LineCountsRow)`
    select count(*) total, count(*) filter (where payment_status = 'not_required') included from lines
    where workspace_id = ${db.workspaceId} and provisioning_status in ('provisioning', 'active')
      and channel = any(${sql.array(channels, 'text')})`);
}

/** The request that awaits payment. A workspace has at most one. */
export async function findAwaitingPayment(db: TenantDb): Promise<StoredLineRequest | null> {
  const id = await db.maybeOneFirst(sql.type(IdRow)`
    select id from lines where workspace_id = ${db.workspaceId} and provisioning_status = 'awaiting_payment'`);
  return id === null ? null : findLineRequest(db, id);
}

export async function findLineRequest(db: TenantDb, id: string): Promise<StoredLineRequest | null> {
  return readLineRequest(db, id, sql.fragment``);
}

export async function lockLineRequest(db: TenantDb, id: string): Promise<StoredLineRequest | null> {
  return readLineRequest(db, id, sql.fragment`for no key update`);
}

async function readLineRequest(
  db: TenantDb,
  id: string,
  lock: ReturnType<typeof sql.fragment>,
): Promise<StoredLineRequest | null> {
  const line = await db.maybeOne(sql.type(LineRequestRow)`
    select * from lines where workspace_id = ${db.workspaceId} and id = ${id} ${lock}`);
  if (!line) return null;
  const invoices = await db.any(sql.type(InvoiceRow)`
    select * from line_invoices where workspace_id = ${db.workspaceId} and line_id = ${id} order by round`);
  return { ...line, invoices: [...invoices] };
}

export interface NewLineRequest extends LineRequestInput {
  id: string;
  carrier: string;
  source: z.infer<typeof RequestSource>;
  grant: Grant;
}

export async function insertLineRequest(db: TenantDb, request: NewLineRequest): Promise<StoredLineRequest> {
  const { status, paymentStatus, invoices } = startLineRequest(request.grant);
  const limits = DEFAULT_LIMITS[request.channelType];
  await db.query(sql.type(NoRows)`
    insert into lines (workspace_id, id, channel, line_type, first_name, last_name, provisioning_status, payment_status,
      request_source, requested_email, requested_area_code, requested_country, is_active, carrier,
      daily_total_limit, daily_new_limit, hourly_new_limit, min_gap_seconds, contact_gap_seconds)
    values (${db.workspaceId}, ${request.id}, ${request.channelType}, ${request.lineType}, ${request.firstName}, ${request.lastName},
      ${status}, ${paymentStatus}, ${request.source}, ${request.email ?? null}, ${request.areaCode ?? null}, ${request.country ?? null}, false,
      ${request.carrier}, ${limits.dailyTotal}, ${limits.dailyNew}, null, ${limits.minGapSeconds}, ${limits.contactGapSeconds})`);
  await addLookup(db, 'line', request.id);
  await storeInvoices(db, request.id, invoices);
  wake(db, lineRequestId(request.id), currentTime(), 'requested');
  const stored = await findLineRequest(db, request.id);
  if (!stored) throw new Error('the inserted line was not found');
  return stored;
}

/** Records why the carrier rejects a line that is being provisioned. */
export async function recordFailureReason(db: TenantDb, id: string, reason: string): Promise<void> {
  await db.query(sql.type(NoRows)`
    update lines set failure_reason = ${reason}
    where workspace_id = ${db.workspaceId} and id = ${id} and provisioning_status = 'provisioning'`);
}

export async function storeInvoices(
  db: TenantDb,
  id: string,
  invoices: LineRequestState['invoices'],
): Promise<void> {
  const rows = Object.entries(invoices).map(([round, status]) => [Number(round), status]);
  if (rows.length === 0) return;
  await db.query(sql.type(NoRows)`
    insert into line_invoices (workspace_id, line_id, round, status)
    select ${db.workspaceId}, ${id}, i.round, i.status from ${sql.unnest(rows, ['int4', 'text'])} as i (round, status)
    on conflict (workspace_id, line_id, round) do update set status = excluded.status, updated_at = excluded.updated_at
      where line_invoices.status <> excluded.status`);
}

/** What identifies a line at its carrier. */
interface Identity {
  channel: Channel;
  address: string;
  carrierConfig: Record<string, unknown>;
}

/** Sets the address and the configuration that a carrier allocated, unless the line has been connected meanwhile. */
export async function setAllocated(
  db: TenantDb,
  id: string,
  { carrier, ...identity }: Identity & { carrier: string },
): Promise<void> {
  const isFree = await db.maybeOne(sql.type(IdRow)`
    select id from lines
    where workspace_id = ${db.workspaceId} and id = ${id} and carrier = ${carrier} and phone is null and email is null for update`);
  if (isFree) await setIdentity(db, id, identity);
}

/** Sets the address and the configuration of a line. */
export async function setIdentity(
  db: TenantDb,
  id: string,
  { channel, address, carrierConfig }: Identity,
): Promise<void> {
  const column = sql.identifier([lineKind(channel)]);
  await db.query(sql.type(NoRows)`
    update lines set ${column} = ${address}, carrier_config = ${sql.jsonb(carrierConfig as never)}, updated_at = now()
    where workspace_id = ${db.workspaceId} and id = ${id}`);
}

/** Activates a line that was just probed successfully, and starts its warm-up, unless somebody has set its limits meanwhile. */
export async function startLine(db: TenantDb, id: string): Promise<void> {
  const defaults = Object.values(DEFAULT_LIMITS).map(
    ({ dailyTotal, dailyNew }) => sql.fragment`(${dailyTotal}::int, ${dailyNew}::int)`,
  );
  await db.query(sql.type(NoRows)`
    update lines set is_active = true, health_status = 'healthy', health_checked_at = now(),
      warmup_started_at = case
        when hourly_new_limit is null and (daily_total_limit, daily_new_limit) in (${sql.join(defaults, sql.fragment`, `)}) then now()
      end
    where workspace_id = ${db.workspaceId} and id = ${id}`);
}

/** Records that the invoice was read from the provider. */
export async function markInvoiceChecked(db: TenantDb, id: string, round: number): Promise<void> {
  await db.query(sql.type(NoRows)`
    update line_invoices set checked_at = now() where workspace_id = ${db.workspaceId} and line_id = ${id} and round = ${round}`);
}

export function presentLineRequest(request: StoredLineRequest): LineRequest {
  const { provisioningStatus, paymentStatus, paymentLinkUrl, failureReason } = request;
  const awaiting = provisioningStatus === 'awaiting_payment';
  const usRegistration = usRegistrationOf(request.carrierConfig);
  return {
    success: true,
    status: provisioningStatus,
    paymentStatus,
    paymentRequired: awaiting,
    ...(provisioningStatus === 'failed' && failureReason !== null && { failureReason }),
    ...(awaiting && paymentLinkUrl !== null && { paymentUrl: paymentLinkUrl }),
    line: {
      _id: request.id,
      firstName: request.firstName,
      lastName: request.lastName,
      channelType: request.channel,
      lineType: request.lineType,
      provisioningStatus,
      paymentStatus,
      ...(usRegistration !== null && { usRegistration }),
    },
  };
}

/** Whether an invoice of the line can still be paid, or is still to be voided or credited. */
export const hasUnsettledInvoices = (db: TenantDb, lineId: string): Promise<boolean> =>
  db.exists(sql.type(NoRows)`
    select 1 from line_invoices
    where workspace_id = ${db.workspaceId} and line_id = ${lineId}
      and status in ('opening', 'open', 'void_due', 'credit_due')`);
