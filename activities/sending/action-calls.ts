import { currentTime } from '#domain/base/clock.ts';
import { followCorrection } from '#db/commands/campaigns/corrections.ts';
import { shareAsFile } from '#db/commands/lines/contact-cards.ts';
import {
  type ClaimedAction,
  isOptedOutOrSuppressed,
  settleAction,
  TOO_LATE,
} from '#db/commands/messages/message-actions.ts';
import type { SendPlan } from '#db/commands/sending/send-plan.ts';
import type { Pools } from '#db/connection/pools.ts';
import { withTenant } from '#db/connection/transactions.ts';
import { findCarrierGroup } from '#db/queries/inbox/groups.ts';
import type { LineRow } from '#db/queries/lines/lines.ts';
import { type ActionRow, type ActionTarget, findActionTarget } from '#db/queries/messages/message-actions.ts';
import { isGroupAddress } from '#domain/inbox/group.ts';
import {
  type ActionOutcome,
  CAPABILITY_OF,
  isOfConversation,
  tells,
} from '#domain/messages/message-action.ts';
import type { CarrierGroup, OutboundAction } from '#providers/carriers/carrier.ts';
import { lineCarrier } from '#providers/carriers/line-carrier.ts';
import { timeLimit } from '#providers/time-limit.ts';
import type { Dependencies } from '../dependencies.ts';
import type { LineAtCarrier } from '../lines/line-location.ts';

/** The group with an address; null: it is the address of a contact. */
export const groupAt = async (
  pools: Pools,
  workspaceId: string,
  address: string,
): Promise<CarrierGroup | null> =>
  isGroupAddress(address) ? withTenant(pools, workspaceId, (db) => findCarrierGroup(db, address)) : null;

/** An action as the carrier gets it. */
const outboundAction = (
  row: ActionRow,
  line: LineRow,
  { group, ...target }: ActionTarget & { group: CarrierGroup | null },
): OutboundAction => ({
  id: row.id,
  lineId: line.id,
  channel: target.channel ?? line.channel,
  to: target.phone ?? target.address,
  ...(group && { group }),
  carrierMessageId: target.carrierMessageId,
  action: row.action,
});

/** A question is answered at once, or another process asks. */
const FIND_ACTION_MS = 10_000;

/** Whether a message of ours that was to be sent is not sent any more, or has been sent. */
const isOver = (target: ActionTarget | null): boolean =>
  target?.direction === 'out' && target.status !== 'pending' && target.status !== 'scheduled';

/** Does what is asked for besides sending: reactions, edits, typing, cards. */
export function createActionCalls({
  pools,
  carriers,
  secrets,
  links,
}: Pick<Dependencies, 'pools' | 'carriers' | 'secrets' | 'links'>) {
  /** Whether the carrier shows what an action was to do, although its response was lost. */
  async function isDone(row: ActionRow, of: LineRow, target: ActionTarget): Promise<boolean> {
    const { carrier, config } = lineCarrier({ carriers, secrets }, of);
    const group = await groupAt(pools, of.workspaceId, target.address);
    const action = {
      ...outboundAction(row, of, { ...target, group }),
      startedAt: row.startedAt ?? row.createdAt,
    };
    return (await carrier.findAction?.(config, action, AbortSignal.timeout(FIND_ACTION_MS))) === 'done';
  }

  async function endAction(
    { workspaceId }: LineAtCarrier,
    row: ActionRow,
    of: LineRow,
    outcome: ActionOutcome,
  ): Promise<void> {
    await withTenant(pools, workspaceId, (db) => settleAction(db, row, of, outcome));
    // Afterwards, since choosing a line comes before the lock of the message.
    if (row.action.kind === 'edit' && outcome.kind !== 'accepted')
      await withTenant(pools, workspaceId, (db) => followCorrection(db, row.id, currentTime()));
    if (row.action.kind === 'contact_card' && outcome.kind === 'refused' && outcome.reason !== TOO_LATE)
      await withTenant(pools, workspaceId, (db) => shareAsFile(db, row.messageId, links, currentTime()));
  }

  /** Ends an action that nobody carries out any more: the process that called the carrier has crashed, or it is too late. */
  async function end(
    line: LineAtCarrier,
    { row, line: of, reason }: SendPlan['actions']['ended'][number],
  ): Promise<void> {
    const target = await withTenant(pools, line.workspaceId, (db) => findActionTarget(db, row.messageId));
    const isFound = row.status === 'calling' && target !== null && (await isDone(row, of, target));
    const outcome: ActionOutcome = isFound ? { kind: 'accepted' } : { kind: 'refused', reason };
    await endAction(line, row, of, outcome);
  }

  /** @returns whether the action has ended. */
  async function carryOutOne(
    line: LineAtCarrier,
    { row, line: of, answerBy }: ClaimedAction,
  ): Promise<boolean> {
    const { carrier, config } = lineCarrier({ carriers, secrets }, of);
    const { target, mustNotBeSent } = await withTenant(pools, line.workspaceId, async (db) => {
      const found = await findActionTarget(db, row.messageId);
      // They may have opted out since it was asked for.
      const refuses =
        found !== null && tells(row.action) && (await isOptedOutOrSuppressed(db, found.address));
      return { target: found, mustNotBeSent: refuses };
    });
    const { action } = row;
    const isAble = carriers.capabilitiesOf(of).includes(CAPABILITY_OF[action.kind]);
    // Somebody has canceled it.
    const isPointless = action.kind === 'typing' && action.on && isOver(target);
    const called: ActionOutcome = mustNotBeSent
      ? { kind: 'refused', reason: 'recipient_opted_out' }
      : carrier.act &&
          isAble &&
          target &&
          !isPointless &&
          (isOfConversation(action) || target.carrierMessageId)
        ? await carrier.act(
            config,
            outboundAction(row, of, {
              ...target,
              group: await groupAt(pools, line.workspaceId, target.address),
            }),
            timeLimit(Math.max(0, answerBy.getTime() - currentTime().getTime())),
          )
        : { kind: 'refused', reason: 'the carrier cannot do this' };
    const isFound = called.kind === 'unknown' && target && (await isDone(row, of, target));
    const outcome: ActionOutcome = isFound ? { kind: 'accepted' } : called;
    await endAction(line, row, of, outcome);
    return outcome.kind !== 'transient';
  }

  /** @returns false if the claimed action is to be tried again. */
  return async (line: LineAtCarrier, { claimed, ended }: SendPlan['actions']): Promise<boolean> => {
    for (const action of ended) await end(line, action);
    return claimed === null || carryOutOne(line, claimed);
  };
}
