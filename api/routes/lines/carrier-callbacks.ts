import type { Context } from 'koa';
import { z } from 'zod';
import { isDelivered } from '#db/commands/inbox/carrier-events.ts';
import { type CrossesTransfers, LineLeft, receiveCarrierEvents } from '#db/commands/inbox/carrier-reports.ts';
import { type CallbackLine, findCallbackLine } from '#db/queries/lines/callback-lines.ts';
import { happenedIn } from '#db/connection/message-traces.ts';
import { systemDb, withAuth, withTenant } from '#db/connection/transactions.ts';
import { findLineOwner } from '#db/queries/accounts/workspaces.ts';
import { type CarrierEvent, CarrierReport, type ReportedTyping } from '#domain/lines/carrier-event.ts';
import { CONTACT_TYPING_SECONDS } from '#domain/inbox/presence.ts';
import { createFairQueue } from '#domain/base/fair-queue.ts';
import { isId } from '#domain/base/ids.ts';
import {
  BadSignature,
  type CallbackRequest,
  type Carrier,
  usesOperatorAccount,
} from '#providers/carriers/carrier.ts';
import { notReached } from '#providers/carriers/connection-checks.ts';
import { callbackAddress } from '#providers/carriers/line-carrier.ts';
import { announceTyping } from '../inbox/contact-typing.ts';
import { checkServers } from './line-settings.ts';
import { moveServer } from '#db/commands/lines/line-carriers.ts';
import { currentTime, realTime } from '#domain/base/clock.ts';
import { fallbackConfig } from '#providers/carriers/fallback-account.ts';
import { lineCarrier } from '#providers/carriers/line-carrier.ts';
import { Unreadable } from '#providers/untrusted/processes.ts';
import { readRawBody } from '#api/http/body.ts';
import { clientAddress } from '#api/http/client-address.ts';
import { ApiError, fromZod, invalid, invalidFields } from '#api/http/errors.ts';
import { publicRoute } from '#api/http/route.ts';
import type { Services } from '#api/services.ts';

/** Validates what an adapter parsed: a carrier can report an invalid time. */
const Reports = z.array(CarrierReport);

/** Limits how many large bodies of a workspace are in memory at once. */
const largeBodies = createFairQueue({ share: 4, maxWaiting: 200 });

export const carrierCallbackRoutes = [
  /** Receipts, reads, replies, reactions, calls and typing, each verified by the carrier's own signature. */
  publicRoute({
    id: 'carrierCallback',
    method: 'POST',
    path: '/callbacks/carriers/{carrier}/{lineId}',
    tag: 'Callbacks',
    summary: "Receive a carrier's callback about a line, verified by the carrier's signature",
    contentTypes: { 200: '*/*' },
    errors: ['VALIDATION_ERROR', 'UNAUTHORIZED', 'NOT_FOUND', 'BODY_TOO_LARGE'],
    respond: receive,
  }),
];

async function receive(context: Context, services: Services): Promise<void> {
  const { pools, carriers, config } = services;
  const { carrier: carrierName, lineId } = context['params'] as { carrier: string; lineId: string };
  const client = clientAddress(context);
  const about = isId(lineId) ? await findLine(client, lineId, pools) : null;
  if (!about || !carriers.names.includes(carrierName)) return refuse('NOT_FOUND', client, services);
  const { workspaceId } = about.line;
  const carrier = carriers.get(carrierName);
  const senders = sendersAt(about, carrier, services);
  if (senders.length === 0) return refuse('NOT_FOUND', client, services);
  const head = { url: config.publicUrl + context.url, headers: singleValued(context.headers) };
  const trusted = senders.filter((sender) => isTrusted(() => carrier.checkCallback?.(sender, head)));
  if (trusted.length === 0) return refuse('UNAUTHORIZED', client, services);
  let moved: unknown = null;
  const read = async (): Promise<CarrierReport[] | null> => {
    const request = { ...head, rawBody: await readRawBody(context, carrier.callbackLimit) };
    const events = await readEvents(carrier, trusted, request, workspaceId);
    moved = (events && carrier.movedTo?.(trusted[0], request)) ?? null;
    return events;
  };
  const isLarge = carrier.callbackLimit !== undefined;
  const events = await (isLarge ? largeBodies.run(workspaceId, read) : read());
  if (!events) return refuse('UNAUTHORIZED', client, services);
  const isOperators = usesOperatorAccount(carrier);
  // Only authenticated callbacks count, so that nobody else can use up the limit.
  if (!isOperators) await services.rateLimits.consumeCallback(lineId);
  if (moved !== null) await followServer(about.line, carrier, moved, services);
  // One commit per event: if one fails, the carrier repeats all of them, and those committed before change nothing.
  for (const event of events) {
    if (event.kind === 'typing') await showTyping(event, workspaceId, services);
    else await takeIn(event, { ...about, crossesTransfers: isOperators }, services);
  }
  context.status = 200;
  context.body = carrier.callbackAnswer?.body ?? { success: true };
  if (carrier.callbackAnswer) context.type = carrier.callbackAnswer.contentType;
}

/** @returns null if there is no such line. @throws Busy */
const findLine = (client: string, lineId: string, pools: Services['pools']): Promise<CallbackLine | null> =>
  withAuth(pools, client, `line ${lineId}`, (db) => findCallbackLine(db, lineId));

/**
 * The server of a line says that it has another address. It counts if it is allowed, accepts the line's credentials, and has the line's
 * own callback URL; otherwise the line stays as it is.
 */
async function followServer(
  { id: lineId, workspaceId, carrierConfig }: CallbackLine['line'],
  carrier: Carrier,
  settings: unknown,
  { pools, config, egress, logger }: Pick<Services, 'pools' | 'config' | 'egress' | 'logger'>,
): Promise<void> {
  const isAllowed = await checkServers(carrier, settings, egress.guard).then(
    () => true,
    () => false,
  );
  const callbackUrl = callbackAddress(config.publicUrl, carrier, lineId);
  const subject = { lineId, address: null, callbackUrl, reachCallbacks: notReached };
  const passed = new Set<string>();
  if (!isAllowed)
    return logger.warn({ lineId }, 'the server of a line announced an address that is not allowed');
  for await (const { name, result } of carrier.checkConnection(settings, subject))
    if (result === 'pass') passed.add(name);
  const isSame = ['server', 'credentials', 'callback'].every((name) => passed.has(name));
  logger.warn({ lineId, isSame }, 'the server of a line announced another address');
  if (!isSame) return;
  const { url } = z.object({ url: z.string() }).parse(settings);
  await withTenant(pools, workspaceId, (db) =>
    moveServer(db, lineId, { ...carrierConfig, url }, currentTime()),
  );
}

/**
 * If the line is transferred in the meantime, an event of the operator's account is received again in its new workspace.
 * Any other is refused: it was verified with a secret of the former workspace.
 */
async function takeIn(
  event: CarrierEvent,
  { line: { id: lineId, workspaceId }, hasMoved, crossesTransfers }: CallbackLine & CrossesTransfers,
  { receipts, pools, links }: Pick<Services, 'receipts' | 'pools' | 'links'>,
): Promise<void> {
  const report = { lineId, event, happenedIn: happenedIn() };
  if (!hasMoved && isDelivered(report)) {
    const isStored = await receipts.add(workspaceId, report).then(() => true, unlessLeft);
    if (isStored) return;
  }
  let home: string | undefined = workspaceId;
  while (home !== undefined) {
    const line = { workspaceId: home, lineId, crossesTransfers };
    if (await receiveCarrierEvents({ pools, links }, line, [event])) return;
    if (!crossesTransfers) break;
    home = (await findLineOwner(systemDb(pools), lineId))?.workspaceId;
  }
  throw new ApiError('NOT_FOUND');
}

function unlessLeft(error: unknown): false {
  if (error instanceof LineLeft) return false;
  throw error;
}

async function showTyping(
  { from, isOn, at }: ReportedTyping,
  workspaceId: string,
  { pools, presence }: Pick<Services, 'pools' | 'presence'>,
): Promise<void> {
  // A report that was repeated until it arrived.
  if (at.getTime() < realTime().getTime() - CONTACT_TYPING_SECONDS * 1000) return;
  await withTenant(pools, workspaceId, (db) => announceTyping(db, presence, { from, isOn }));
}

/** The accounts whose secret may have signed the callback: the line's own, and the workspace's fallback account. */
function sendersAt(
  { line, fallbackAccount: account }: CallbackLine,
  carrier: Carrier,
  { carriers, secrets }: Pick<Services, 'carriers' | 'secrets'>,
): unknown[] {
  return [
    ...(line.carrier === carrier.name ? [lineCarrier({ carriers, secrets }, line).config] : []),
    ...(account?.provider === carrier.name
      ? [fallbackConfig(carrier, account, line.workspaceId, secrets)]
      : []),
  ];
}

function isTrusted(check: () => void): boolean {
  try {
    check();
    return true;
  } catch (error) {
    if (error instanceof BadSignature) return false;
    throw error;
  }
}

/** Parses a callback with the first account whose secret matches; null if none does. */
async function readEvents(
  carrier: Carrier,
  senders: unknown[],
  request: CallbackRequest,
  workspaceId: string,
): Promise<CarrierReport[] | null> {
  for (const sender of senders) {
    try {
      return Reports.parse(await carrier.parseCallback(sender, request, workspaceId));
    } catch (error) {
      if (error instanceof z.ZodError) throw fromZod(error);
      if (error instanceof Unreadable) throw unreadable(error);
      if (!(error instanceof BadSignature)) throw error;
    }
  }
  return null;
}

/** Counts the failed attempt, to prevent guessing of lines and secrets. @throws RATE_LIMITED or `code`. */
async function refuse(
  code: 'NOT_FOUND' | 'UNAUTHORIZED',
  client: string,
  { rateLimits }: Pick<Services, 'rateLimits'>,
): Promise<never> {
  await rateLimits.countFailure(client);
  throw new ApiError(code, code === 'UNAUTHORIZED' ? 'The signature does not match' : undefined);
}

const unreadable = ({ message, issues }: Unreadable): ApiError =>
  issues.length > 0 ? invalidFields(issues) : invalid('', `The body cannot be read: ${message}`);

const singleValued = (headers: NodeJS.Dict<string | string[]>): Record<string, string | undefined> =>
  Object.fromEntries(
    Object.entries(headers).map(([name, value]) => [name, Array.isArray(value) ? value[0] : value]),
  );
