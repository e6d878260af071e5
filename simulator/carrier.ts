import { timingSafeEqual, createHash } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import Router from '@koa/router';
import type { Context } from 'koa';
import { z } from 'zod';
import { newId } from '#domain/base/ids.ts';
import {
  type Accepted,
  ActionRequest,
  type ErrorCode,
  SendRequest,
} from '#providers/carriers/simulated-protocol.ts';
import { behaviourOf, isReachable, Recipient } from './behaviour.ts';
import { createCallbacks, type Step } from './callbacks.ts';
import {
  type Activity,
  CallRequest,
  type CarrierEntry,
  createCarrierLog,
  idOf,
  InboundRequest,
  type Sent,
} from './carrier-log.ts';
import { findMedia } from './carrier-media.ts';
import { afterCall, afterInbound, afterSent, misreported } from './carrier-story.ts';
import { faultOf, FaultSettings } from './faults.ts';
import type { SimulatorContext, SimulatorPart } from './part.ts';

const LATE_RESPONSE_MS = 5000;
/** `Retry-After` of a rate-limited send. */
const RETRY_AFTER_SECONDS = 1;

/** The simulated carrier: its protocol at `/carrier`, its controls at `/simulated/carrier`. */
export function simulateCarrier(simulator: SimulatorContext): SimulatorPart {
  const journal = simulator.openJournal<CarrierEntry>('carrier');
  const log = createCarrierLog(journal);
  const callbacks = createCallbacks(simulator.secret, simulator.log);
  const stopping = new AbortController();
  /** Failed attempts of messages that are accepted at the third attempt, by message and recipient. */
  const refusals = new Map<string, number>();

  const urlOf = (lineId: string): string =>
    `${simulator.callbackBaseUrl}/callbacks/carriers/simulated/${lineId}`;

  /** The callbacks of an activity. They are the same after a restart, except for their timestamps. */
  function callbacksOf(activity: Activity): [lineId: string, url: string, steps: Step[]] {
    if (activity.kind === 'sent') {
      const { sent } = activity;
      const steps = misreported(sent, faultOf(log.faults(), sent.text));
      return [sent.lineId, sent.callbackUrl, steps ?? afterSent(sent)];
    }
    if (activity.kind === 'call') {
      const { call } = activity;
      return [call.lineId, urlOf(call.lineId), afterCall(call)];
    }
    const { inbound } = activity;
    const replyTo = inbound.replyTo === undefined ? undefined : log.carrierIdOf(inbound.replyTo);
    return [inbound.lineId, urlOf(inbound.lineId), afterInbound(inbound, replyTo)];
  }

  async function report(activity: Activity): Promise<void> {
    if (await callbacks.postAll(...callbacksOf(activity))) log.finish(idOf(activity));
  }

  function record(activity: Activity): void {
    log.add(activity);
    void report(activity);
  }

  for (const activity of log.takeUnfinished()) void report(activity);

  /** Fails the first two attempts to a recipient that fails twice. */
  function refuseTemporarily(context: Context, { messageReference, to }: SendRequest): boolean {
    const key = `${messageReference} ${to}`;
    const before = refusals.get(key) ?? 0;
    if (before === 2) {
      refusals.delete(key);
      return false;
    }
    refusals.set(key, before + 1);
    if (before === 0) fail(context, 503, 'temporarily_unavailable', 'Temporarily unavailable');
    else fail(context, 429, 'rate_limited', 'Too many requests', RETRY_AFTER_SECONDS);
    return true;
  }

  const routes = new Router();

  routes.use('/carrier', async (context, next) => {
    if (isAuthorized(context.get('authorization'), simulator.secret)) return next();
    const isFile = context.path.startsWith('/carrier/media/');
    if (isFile) fail(context, 403, 'forbidden', 'This file is private');
    else fail(context, 401, 'unauthorized', 'Wrong or missing secret');
  });

  routes.post('/carrier/messages', async (context) => {
    const message = SendRequest.parse(context.request.body);
    const known = log.sentByReference(message.clientReference);
    if (known) return accept(context, known);
    if (log.isDown(message.lineId))
      return fail(context, 503, 'line_down', "The line's device does not respond");
    const recipients = message.group?.participants ?? [message.to];
    if (!recipients.every((recipient) => isReachable(recipient, message.channel))) {
      return fail(context, 422, 'not_registered', 'The recipient cannot be reached on this channel');
    }
    const behaviour = behaviourOf(message.to);
    // Only lines are refused; the fallback account of a workspace is accepted.
    if (behaviour === 'refuse' && message.account === undefined)
      return fail(context, 422, 'rejected', 'The recipient does not exist');
    if (behaviour === 'fail_twice' && refuseTemporarily(context, message)) return;

    const sent: Sent = { ...withGroup(message), id: newId(), acceptedAt: new Date().toISOString() };
    record({ kind: 'sent', sent });
    const fault = faultOf(log.faults(), message.text);
    if (fault === 'error_after_success')
      return fail(context, 500, 'temporarily_unavailable', 'Something went wrong');
    if (behaviour === 'lose_response' || fault === 'lose_response') {
      context.respond = false;
      context.req.socket.destroy();
      return;
    }
    if (behaviour === 'respond_late' || fault === 'respond_late')
      await pause(LATE_RESPONSE_MS, undefined, { signal: stopping.signal });
    accept(context, sent);
  });

  routes.post('/carrier/actions', (context) => {
    const action = ActionRequest.parse(context.request.body);
    if (log.isDown(action.lineId))
      return fail(context, 503, 'line_down', "The line's device does not respond");
    if (behaviourOf(action.to) === 'refuse')
      return fail(context, 422, 'rejected', 'The recipient does not exist');
    log.act({ ...action, at: new Date().toISOString() });
    context.status = 204;
  });

  routes.get('/carrier/actions', (context) => {
    const { clientReference } = z.object({ clientReference: z.string() }).parse(context.query);
    if (!log.actByReference(clientReference))
      return fail(context, 404, 'not_found', 'No action has this reference');
    context.status = 204;
  });

  routes.get('/simulated/carrier/actions', (context) => {
    const { to } = z.object({ to: Recipient }).parse(context.query);
    const actions = log.actions(to);
    context.body = { to, count: actions.length, actions };
  });

  routes.get('/carrier/messages', (context) => {
    const { clientReference } = z.object({ clientReference: z.string() }).parse(context.query);
    const sent = log.sentByReference(clientReference);
    if (!sent) return fail(context, 404, 'not_found', 'No message has this reference');
    accept(context, sent);
    context.status = 200;
  });

  routes.get('/carrier/availability', (context) => {
    const { address } = z.object({ address: z.string().min(1) }).parse(context.query);
    context.body = { available: isReachable(address, 'imessage') };
  });

  routes.get('/carrier/health', (context) => {
    const { lineId } = z.object({ lineId: z.string() }).parse(context.query);
    if (log.isDown(lineId)) return fail(context, 503, 'line_down', "The line's device does not respond");
    context.body = { status: 'ok' };
  });

  routes.get('/carrier/media/:id', (context) => {
    const file = findMedia(context.params['id'] ?? '', log.inbound);
    if (!file) return fail(context, 404, 'not_found', 'There is no such file');
    context.body = file.content;
    context.type = file.contentType;
  });

  routes.get('/simulated/carrier/sent', (context) => {
    const query = z.object({ to: Recipient.optional(), lineId: z.string().optional() }).parse(context.query);
    const found = log.sent(query);
    const messages =
      query.to === undefined
        ? found.map((sent) => ({
            to: sent.to,
            messageReference: sent.messageReference,
            fault: faultOf(log.faults(), sent.text),
            ...listed(sent),
          }))
        : found.map(listed);
    context.body = { to: query.to ?? null, count: messages.length, messages };
  });

  routes.post('/simulated/carrier/inbound', (context) => {
    const inbound = { ...InboundRequest.parse(context.request.body), id: newId() };
    record({ kind: 'inbound', inbound });
    context.status = 202;
    context.body = { success: true, id: inbound.id };
  });

  routes.post('/simulated/carrier/call', (context) => {
    const call = {
      ...CallRequest.parse(context.request.body),
      id: newId(),
      endedAt: new Date().toISOString(),
    };
    record({ kind: 'call', call });
    context.status = 202;
    context.body = { success: true, callId: call.id };
  });

  routes.post('/simulated/carrier/faults', (context) => {
    log.setFaults(FaultSettings.parse(context.request.body));
    context.body = { success: true };
  });

  routes.post('/simulated/carrier/lines/:lineId', (context) => {
    const { down } = z.object({ down: z.boolean() }).parse(context.request.body);
    const lineId = context.params['lineId'] ?? '';
    log.setDown(lineId, down);
    context.body = { success: true, lineId, down };
  });

  return {
    routes,
    async stop() {
      stopping.abort();
      await callbacks.stop();
      journal.close();
    },
  };
}

/** The same people are the same group. */
const withGroup = ({ group, ...message }: SendRequest): SendRequest =>
  group
    ? {
        ...message,
        group: { ...group, id: group.id ?? `simulated;+;${group.participants.toSorted().join()}` },
      }
    : message;

function accept(context: Context, { id, group }: Sent): void {
  context.status = 202;
  context.body = {
    id,
    status: 'accepted',
    ...(group && group.id !== null && { groupId: group.id }),
  } satisfies Accepted;
}

function fail(
  context: Context,
  status: number,
  code: ErrorCode,
  message: string,
  retryAfterSeconds?: number,
): void {
  context.status = status;
  if (retryAfterSeconds !== undefined) context.set('Retry-After', String(retryAfterSeconds));
  context.body = { error: { code, message, ...(retryAfterSeconds !== undefined && { retryAfterSeconds }) } };
}

/** A message in the response of `GET /simulated/carrier/sent`. */
const listed = ({ id, lineId, channel, text, attachments, replyTo, effect, group, acceptedAt }: Sent) => ({
  id,
  lineId,
  channel,
  text,
  attachments: attachments.map(({ name, contentType, voiceNote }) => ({ name, contentType, voiceNote })),
  ...(replyTo !== undefined && { replyTo }),
  ...(effect !== undefined && { effect }),
  ...(group && { group }),
  acceptedAt,
});

/** Whether a request comes from the product. */
export function isAuthorized(header: string, secret: string): boolean {
  const digest = (text: string): Buffer => createHash('sha256').update(text).digest();
  return timingSafeEqual(digest(header), digest(`Bearer ${secret}`));
}
