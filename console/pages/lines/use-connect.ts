import { useRef, useState } from 'react';
import { request } from '#console/api/client.ts';
import { refreshReads, useRead } from '#console/api/queries.ts';
import type { RequestTo, ResponseOf } from '#console/api/routes.ts';
import type { Line } from '#console/lib/line.ts';
import { AFTER_A_REQUEST, type Channel, isOf } from './line-draft.ts';

export type Connection = ResponseOf<'PUT /api/lines/{id}/carrier'>['connection'];

interface Wish {
  firstName: string;
  lastName: string;
  channel: Channel;
  body: RequestTo<'PUT /api/lines/{id}/carrier'>['body'] & { channel: Channel };
}

/** How often it is looked whether a line has been paid for. */
const PAID_MS = 3000;
const STATE_MS = 1000;
const STATE_READS = 60;

/** A line of one's own that was requested under the names and waits for its carrier. */
const waitingLine = (
  lines: readonly Line[],
  { firstName, lastName, channel }: Omit<Wish, 'body'>,
): Line | undefined =>
  lines.find(
    (other) =>
      other.requestedLineType === 'byo' &&
      other.provisioningStatus === 'provisioning' &&
      other.requestedChannelType === channel &&
      isOf(other, { firstName, lastName }),
  );

/**
 * Connects a line of one's own, and requests it before unless there is one.
 * @param line that waits for its carrier.
 * @param isProvisioned whether a carrier also sets up such lines by itself, which has to end first.
 */
export function useConnect(
  {
    line,
    lines,
    isProvisioned,
  }: {
    line: Line | undefined;
    lines: readonly Line[];
    isProvisioned: boolean;
  },
  onConnected: () => void,
) {
  const [connection, setConnection] = useState<Connection | null>(null);
  const [unpaid, setUnpaid] = useState<(Omit<Wish, 'body'> & { url: string }) | null>(null);
  const isPaid = unpaid !== null && waitingLine(lines, unpaid) !== undefined;
  useRead('GET /api/lines/by-user', {}, { enabled: unpaid !== null, refetchInterval: !isPaid && PAID_MS });
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState<unknown>(null);
  // That of an attempt before, whose connection was refused.
  const lineId = useRef<string | null>(line?._id ?? null);

  /** @returns null if it has to be paid for first. */
  async function ownLine({ firstName, lastName, channel }: Wish): Promise<string | null> {
    const waiting = waitingLine(lines, { firstName, lastName, channel });
    if (waiting) return waiting._id;
    const { line: requested, paymentUrl: payAt } = await request('POST /api/line-requests', {
      body: { channelType: channel, lineType: 'byo', firstName, lastName },
    });
    if (payAt === undefined) return requested._id;
    setUnpaid({ url: payAt, firstName, lastName, channel });
    return null;
  }

  async function settled(id: string): Promise<void> {
    for (let asked = 0; asked < STATE_READS; asked += 1) {
      const { status } = await request('GET /api/line-requests/{id}', { params: { id } });
      if (status !== 'provisioning') return;
      await new Promise((resolve) => setTimeout(resolve, STATE_MS));
    }
  }

  async function connect(wish: Wish): Promise<void> {
    setBusy(true);
    setError(null);
    try {
      lineId.current ??= await ownLine(wish);
      const id = lineId.current;
      if (id === null) return;
      if (isProvisioned) await settled(id);
      const { channel: _, ...body } = wish.body;
      const connected = await request('PUT /api/lines/{id}/carrier', { params: { id }, body });
      setConnection(connected.connection);
      onConnected();
    } catch (failure) {
      setError(failure);
    } finally {
      setBusy(false);
      void refreshReads([...AFTER_A_REQUEST, 'GET /api/lines/{id}/carrier']);
    }
  }
  return { connect, connection, paymentUrl: isPaid ? null : (unpaid?.url ?? null), isPaid, busy, error };
}
