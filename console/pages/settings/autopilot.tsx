import type { MessageDescriptor } from '@lingui/core';
import { msg } from '@lingui/core/macro';
import { useLingui } from '@lingui/react/macro';
import type { ResponseOf } from '#console/api/routes.ts';
import { CheckList } from '#console/components/check-list.tsx';
import { TextAreaField, TextField } from '#console/components/field.tsx';
import { Card } from '#console/components/page.tsx';

type Saved = ResponseOf<'GET /api/knowledge-base'>;
export type Limits = Saved['autopilot'];

export const HAND_OVER: Record<Limits['handOver'][number], MessageDescriptor> = {
  legal: msg`Anything legal`,
  opt_out_doubt: msg`Perhaps an opt-out`,
  asks_for_person: msg`Asks for a person`,
  price: msg`Prices and money`,
  objection: msg`Objections`,
  wrong_person: msg`Wrong person`,
  negative: msg`Annoyed contacts`,
};

/** The fields at which the API's errors are shown. */
export const AUTOPILOT_FIELDS = [
  'autopilot.minConfidence',
  'autopilot.maxPerDay',
  'autopilot.maxPerConversation',
  'autopilot.handOver',
  'disclosure',
];

/** What the autopilot may send without a person. */
export function AutopilotFields({
  autopilot,
  disclosure,
  onChange,
  errorOf,
}: Pick<Saved, 'autopilot' | 'disclosure'> & {
  onChange: (changes: Partial<Pick<Saved, 'autopilot' | 'disclosure'>>) => void;
  errorOf: (field: string) => string | undefined;
}) {
  const { t } = useLingui();
  const change = (limits: Partial<Limits>): void => onChange({ autopilot: { ...autopilot, ...limits } });
  return (
    <Card title={t`Limits of the autopilot`}>
      <div className="grid gap-4 p-4 sm:grid-cols-3">
        <TextField
          label={t`Sure by at least, in percent`}
          type="number"
          min={0}
          max={100}
          required
          value={String(Math.round(autopilot.minConfidence * 100))}
          onChange={({ target }) => change({ minConfidence: Number(target.value) / 100 })}
          error={errorOf('autopilot.minConfidence')}
        />
        <TextField
          label={t`Answers a day`}
          type="number"
          min={1}
          max={500}
          required
          value={String(autopilot.maxPerDay)}
          onChange={({ target }) => change({ maxPerDay: Number(target.value) })}
          error={errorOf('autopilot.maxPerDay')}
        />
        <TextField
          label={t`Answers in a conversation`}
          type="number"
          min={1}
          max={50}
          required
          hint={t`Until it is closed.`}
          value={String(autopilot.maxPerConversation)}
          onChange={({ target }) => change({ maxPerConversation: Number(target.value) })}
          error={errorOf('autopilot.maxPerConversation')}
        />
        <div className="sm:col-span-3">
          <CheckList
            legend={t`Left to a person`}
            options={HAND_OVER}
            value={autopilot.handOver}
            onChange={(handOver) => change({ handOver })}
            error={errorOf('autopilot.handOver')}
          />
        </div>
        <div className="sm:col-span-3">
          <TextAreaField
            label={t`What contacts are told (optional)`}
            hint={t`Sent once to each contact, before its first answer: for example, that it is a program.`}
            value={disclosure}
            onChange={({ target }) => onChange({ disclosure: target.value })}
            error={errorOf('disclosure')}
          />
        </div>
      </div>
    </Card>
  );
}
