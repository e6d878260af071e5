import { ApplicationFailure } from '@temporalio/activity';
import type { AuditAction } from '#domain/accounts/audit.ts';
import { currentTime } from '#domain/base/clock.ts';
import { Refusal } from '#domain/base/refusal.ts';
import { wake } from '#db/wakes/wakes.ts';
import { linePacerId } from '#workflows/protocol/workflow-ids.ts';
import { changeLineRequest, type LineRequestChange } from '#db/commands/billing/change-line-request.ts';
import { reassignMessagesOf } from '#db/commands/lines/line-reassignment.ts';
import {
  findLineRequest,
  recordFailureReason,
  setAllocated,
  startLine,
  type StoredLineRequest,
} from '#db/queries/lines/line-requests.ts';
import { chooseLineNumber, findLineNumber, forgetLineNumber } from '#db/queries/lines/line-numbers.ts';
import { notify } from '#db/commands/events/notifications.ts';
import { type TenantDb, withTenant } from '#db/connection/transactions.ts';
import { type Carrier, LineRefused, type NumberChoice } from '#providers/carriers/carrier.ts';
import { callbackAddress, lineCarrier } from '#providers/carriers/line-carrier.ts';
import { sealConfig } from '#providers/carriers/secret-config.ts';
import { secretContext } from '#providers/secret-box.ts';
import { LINE_REFUSED } from '#workflows/protocol/line-request.ts';
import type { Order, RequestVerdict } from '#workflows/protocol/updates.ts';
import type { Dependencies } from '../dependencies.ts';
import { carryOut, record } from '../base/order.ts';

export interface RequestedLine {
  workspaceId: string;
  lineId: string;
}

/** The steps that provision a line at its carrier. Each is idempotent. */
export function createLineRequestActivities({ pools, carriers, secrets, publicUrl }: Dependencies) {
  const tenant = <T>({ workspaceId }: RequestedLine, work: (db: TenantDb) => Promise<T>): Promise<T> =>
    withTenant(pools, workspaceId, work);

  async function load(
    line: RequestedLine,
  ): Promise<{ request: StoredLineRequest; carrier: Carrier; config: unknown }> {
    const request = await tenant(line, (db) => findLineRequest(db, line.lineId));
    if (request?.provisioningStatus !== 'provisioning') throw refused('the line is not being provisioned');
    return { request, ...lineCarrier({ carriers, secrets }, request) };
  }

  /** Stores the carrier's reason in the database, for `failLine`, to keep it out of the workflow history. */
  async function refusedBy(line: RequestedLine, reason: string): Promise<ApplicationFailure> {
    await tenant(line, (db) => recordFailureReason(db, line.lineId, reason));
    return refused('the carrier refuses the line');
  }

  /** The number that is chosen for a line, and the record of it. */
  async function choiceFor(line: RequestedLine, carrier: string): Promise<NumberChoice> {
    const { lineId } = line;
    const known = await tenant(line, (db) => findLineNumber(db, lineId));
    return {
      chosen: known && { number: known.number, at: known.chosenAt },
      async choose({ number, at: chosenAt }) {
        const isChosen = await tenant(line, (db) =>
          chooseLineNumber(db, lineId, { carrier, number, chosenAt }),
        );
        if (!isChosen) throw refused('the line is not being provisioned');
      },
      forget: (number) => tenant(line, (db) => forgetLineNumber(db, lineId, number)),
    };
  }

  /** Changes a request for an operator. A request that is already in the resulting state does not change. */
  async function changeFor(
    { workspaceId, lineId, ...order }: RequestedLine & Order,
    apply: (db: TenantDb) => Promise<LineRequestChange | null>,
    { to, as, done }: { to: RequestVerdict['status']; as: AuditAction; done: string },
  ): Promise<RequestVerdict> {
    return carryOut(pools, workspaceId, order, async (db) => {
      const change = await apply(db);
      if (!change) throw new Refusal('NOT_FOUND', null, 'There is no such request');
      const { provisioningStatus: status } = change.request;
      if (change.outcome === 'applied') await record(db, order, as, { type: 'line_request', id: lineId });
      else if (status !== to)
        throw new Refusal('INVALID_STATE', null, `A request that is ${status} cannot be ${done}`);
      return { lineId, status };
    });
  }

  return {
    /** Allocates the line's phone number or email address at the carrier. */
    async allocateLine(line: RequestedLine): Promise<void> {
      const request = await tenant(line, (db) => findLineRequest(db, line.lineId));
      if (request?.provisioningStatus !== 'provisioning') throw refused('the line is not being provisioned');
      if (request.phone !== null || request.email !== null) return;
      const carrier = carriers.get(request.carrier);
      if (!carrier.provisioning) throw await refusedBy(line, 'the carrier does not provision lines');
      try {
        const wanted = {
          lineId: line.lineId,
          channel: request.channel,
          firstName: request.firstName,
          lastName: request.lastName,
          email: request.requestedEmail,
          areaCode: request.requestedAreaCode,
          country: request.requestedCountry ?? 'US',
          callbackUrl: callbackAddress(publicUrl, carrier, line.lineId),
        };
        const { address, config } = await carrier.provisioning.allocate(
          wanted,
          await choiceFor(line, carrier.name),
        );
        const settings = config as Record<string, unknown>;
        const sealed = sealConfig(carrier.config, settings, (plain) => secrets.seal(plain, contextOf(line)));
        await tenant(line, (db) =>
          setAllocated(db, line.lineId, {
            carrier: carrier.name,
            channel: request.channel,
            address,
            carrierConfig: sealed,
          }),
        );
      } catch (error) {
        throw error instanceof LineRefused ? await refusedBy(line, error.message) : error;
      }
    },

    async configureInbound(line: RequestedLine): Promise<void> {
      const { carrier, config } = await load(line);
      await carrier.configureInbound?.(config, line.lineId, callbackAddress(publicUrl, carrier, line.lineId));
    },

    /** @throws while the line cannot send. */
    async probeNewLine(line: RequestedLine): Promise<void> {
      const { carrier, config } = await load(line);
      await carrier.probe(config, line.lineId);
    },

    /** Releases the number that was bought for a line which is given up. @throws until that is certain. */
    async releaseNumber(line: RequestedLine): Promise<void> {
      const { lineId } = line;
      const known = await tenant(line, (db) => findLineNumber(db, lineId));
      if (!known) return;
      const { carrier, number, chosenAt: at } = known;
      await carriers.get(carrier).provisioning?.release?.({ lineId, number, at });
      await tenant(line, (db) => forgetLineNumber(db, lineId, number));
    },

    /** Activates the line, starts its warm-up, and assigns it messages that no line could send. */
    async activateLine(line: RequestedLine): Promise<void> {
      await tenant(line, async (db) => {
        const change = await changeLineRequest(db, line.lineId, { type: 'activated' });
        if (change?.outcome !== 'applied') return;
        await startLine(db, line.lineId);
        await reassignMessagesOf(db, null);
        // Its pacer holds the messages that were pinned to it before.
        wake(db, linePacerId(line.lineId), currentTime(), 'lineChanged');
      });
    },

    /** Fails the request; a payment for the line becomes due for credit. */
    async failLine(line: RequestedLine): Promise<void> {
      await tenant(line, (db) => fail(db, line.lineId, TIMED_OUT));
    },

    /** Like `failLine`, for an operator. */
    giveUpLine: (order: RequestedLine & Order): Promise<RequestVerdict> =>
      changeFor(order, (db) => fail(db, order.lineId, GIVEN_UP), {
        to: 'failed',
        as: 'line_request.given_up',
        done: 'given up',
      }),

    /** Cancels a request that awaits payment, like the API. */
    cancelRequest: (order: RequestedLine & Order): Promise<RequestVerdict> =>
      changeFor(order, (db) => changeLineRequest(db, order.lineId, { type: 'cancel' }), {
        to: 'canceled',
        as: 'line_request.updated',
        done: 'canceled',
      }),
  };
}

/** @param otherwise the reason, if the carrier gave none. */
async function fail(db: TenantDb, lineId: string, otherwise: string): Promise<LineRequestChange | null> {
  const reason = (await findLineRequest(db, lineId))?.failureReason ?? otherwise;
  const change = await changeLineRequest(db, lineId, { type: 'refused' }, { failureReason: reason });
  if (change?.outcome === 'applied')
    await notify(db, lineId, { about: 'line_failed', lineId, reason }, currentTime());
  return change;
}

const TIMED_OUT = 'the carrier did not provide a working line in time';
const GIVEN_UP = 'given up by the service';

const contextOf = ({ workspaceId, lineId }: RequestedLine): string =>
  secretContext('line', workspaceId, lineId);

const refused = (reason: string): ApplicationFailure => ApplicationFailure.nonRetryable(reason, LINE_REFUSED);
