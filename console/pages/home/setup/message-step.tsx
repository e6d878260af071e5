import { useLingui } from '@lingui/react/macro';
import type { FormEvent } from 'react';
import { useRead, useWrite } from '#console/api/queries.ts';
import { Status } from '#console/components/badge.tsx';
import { Button } from '#console/components/button.tsx';
import {
  FormError,
  generalErrorOf,
  issueOf,
  SelectField,
  TextAreaField,
  TextField,
} from '#console/components/field.tsx';
import { KeptForm } from '#console/components/kept-form.tsx';
import { EmptyState, ErrorState, SkeletonRows } from '#console/components/states.tsx';
import { type Line, lineName } from '#console/lib/line.ts';
import { useEdits } from '#console/lib/unsent.ts';
import { reasonOf } from '#console/pages/messages/message.ts';
import { useIsAdmin } from '#console/api/workspace.ts';
import type { StepProps } from './step-props.ts';

const POLL_MS = 1000;
const ON_THE_WAY = ['pending', 'scheduled', 'sending', 'sent'];

/** Sends a message to oneself, and follows it until it is delivered. */
export function MessageStep({ done }: StepProps) {
  const { t } = useLingui();
  const lines = useRead(
    'GET /api/lines/by-user',
    {},
    // No event tells that a line was set up.
    { refetchInterval: (data) => (data?.lines.some(isUsable) ? false : POLL_MS) },
  );
  if (lines.error && !lines.data)
    return <ErrorState error={lines.error} retry={() => void lines.refetch()} />;
  if (!lines.data) return <SkeletonRows rows={2} />;
  const active = lines.data.lines.filter(isUsable);
  if (active.length === 0) return <EmptyState title={t`Connect a line first`} />;
  return <SendForm lines={active} done={done} />;
}

const isUsable = ({ provisioningStatus, isActive }: Line): boolean =>
  provisioningStatus === 'active' && isActive;

function SendForm({ lines, done }: { lines: readonly Line[]; done: boolean }) {
  const { t } = useLingui();
  const edits = useEdits('first message', {
    lineId: lines[0]?._id ?? '',
    typed: null as string | null,
    text: t`Hello from Linepace! Please answer this message.`,
  });
  const { lineId, typed, text } = edits.values;
  const line = lines.find(({ _id }) => _id === lineId);
  const isEmail = line?.requestedChannelType === 'email';
  const answering = useAnswering(lineId);
  const suggested = answering?.[isEmail ? 'email' : 'phone'];
  const address = typed ?? suggested ?? '';
  const name = isEmail ? 'recipientEmail' : 'recipientPhone';
  const send = useWrite('POST /api/messages', { refresh: ['GET /api/workspace/setup'] });

  const submit = (event: FormEvent): void => {
    event.preventDefault();
    send.mutate(
      {
        body: {
          message: text,
          fromLineId: lineId,
          messageType: line?.requestedChannelType ?? 'imessage',
          [name]: address,
        },
      },
      { onSuccess: edits.forget },
    );
  };
  return (
    <KeptForm edits={edits} className="flex flex-col gap-4" onSubmit={submit}>
      <div className="grid gap-4 sm:grid-cols-2">
        {lines.length > 1 && (
          <SelectField
            label={t`Line`}
            value={lineId}
            options={lines.map((each) => ({ value: each._id, label: lineName(each) }))}
            onChange={(event) => edits.change({ lineId: event.target.value })}
            error={issueOf(send.error, 'fromLineId')}
          />
        )}
        <TextField
          label={isEmail ? t`Your email address` : t`Your phone number`}
          name={name}
          type={isEmail ? 'email' : 'tel'}
          required
          value={address}
          onChange={(event) => edits.change({ typed: event.target.value })}
          hint={
            suggested === undefined
              ? undefined
              : t`The carrier is simulated and reaches nobody; ${suggested} answers by itself.`
          }
          error={issueOf(send.error, name)}
        />
      </div>
      <TextAreaField
        label={t`Message`}
        required
        value={text}
        onChange={(event) => edits.change({ text: event.target.value })}
        error={issueOf(send.error, 'message')}
      />
      <FormError>{generalErrorOf(send.error, ['fromLineId', name, 'message'])}</FormError>
      <div className="flex flex-wrap items-center gap-3">
        <Button kind={done ? 'secondary' : 'primary'} type="submit" busy={send.isPending}>
          {send.data ? t`Send again` : t`Send`}
        </Button>
        {send.data && <Progress id={send.data._id} />}
      </div>
    </KeptForm>
  );
}

/** Who answers by themselves at the carrier of a line; only admins can read which one it is. */
function useAnswering(lineId: string) {
  const enabled = useIsAdmin();
  const carriers = useRead('GET /api/lines/carriers', {}, { enabled });
  const connected = useRead('GET /api/lines/{id}/carrier', { params: { id: lineId } }, { enabled });
  const provider = connected.data?.connection.provider;
  return carriers.data?.carriers.find((carrier) => carrier.provider === provider)?.guide.answering ?? null;
}

function Progress({ id }: { id: string }) {
  const message = useRead(
    'GET /api/messages/{id}',
    { params: { id } },
    { refetchInterval: (data) => (data && !ON_THE_WAY.includes(data.status) ? false : POLL_MS) },
  );
  return (
    <div role="status" className="flex min-w-0 flex-wrap items-center gap-2">
      {message.data && <Status status={message.data.status} />}
      {message.data && <span className="text-muted">{reasonOf(message.data)}</span>}
      {message.error && <span className="text-bad">{message.error.message}</span>}
    </div>
  );
}
