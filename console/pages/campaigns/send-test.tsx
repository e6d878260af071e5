import { Trans, useLingui } from '@lingui/react/macro';
import { Send } from 'lucide-react';
import { useState } from 'react';
import { useWrite } from '#console/api/queries.ts';
import type { ResponseOf } from '#console/api/routes.ts';
import { Button } from '#console/components/button.tsx';
import { issueOf, TextField } from '#console/components/field.tsx';
import { FormDialog } from '#console/components/form-dialog.tsx';
import { toast } from '#console/components/toast.tsx';

type Step = ResponseOf<'POST /api/campaigns/{id}/preview'>['steps'][number];

const STORED = 'linepace.test address ';
const FIELDS = ['recipientPhone', 'recipientEmail'];

/** Sends the text of a step, as the lead would get it, to somebody of the team. */
export function SendTest({
  step: { messageType, message, subject, fromLineId, attachmentUrls },
}: {
  step: Step;
}) {
  const { t } = useLingui();
  const [asks, setAsks] = useState(false);
  const isEmail = messageType === 'email';
  // Who tests once, tests again.
  const stored = `${STORED}${isEmail ? 'email' : 'phone'}`;
  const [address, setAddress] = useState(() => localStorage.getItem(stored) ?? '');
  const send = useWrite('POST /api/messages', { refresh: ['GET /api/messages'] });
  const submit = (): void =>
    send.mutate(
      {
        body: {
          ...(isEmail ? { recipientEmail: address } : { recipientPhone: address }),
          ...(isEmail && subject !== null && { subject }),
          messageType,
          // What was filled in is not a template any more.
          message: /\{[{%]/.test(message) ? `{% raw %}${message}{% endraw %}` : message,
          attachmentUrls,
          ...(fromLineId !== null && { fromLineId }),
        },
      },
      {
        onSuccess: () => {
          localStorage.setItem(stored, address);
          toast(t`The test is on its way`);
        },
        whileShown: () => setAsks(false),
      },
    );
  return (
    <>
      <Button
        small
        className="mt-2"
        icon={<Send className="size-3.5" aria-hidden="true" />}
        onClick={() => setAsks(true)}
      >
        <Trans>Send a test to me</Trans>
      </Button>
      <FormDialog
        open={asks}
        onClose={() => setAsks(false)}
        title={t`Send a test`}
        description={t`As this lead would get it. It counts as a message of the line.`}
        submit={t({ message: 'Send', context: 'a test' })}
        busy={send.isPending}
        disabled={address.trim() === ''}
        error={send.error}
        fields={FIELDS}
        onSubmit={submit}
      >
        <TextField
          label={isEmail ? t`Your email address` : t`Your phone number`}
          type={isEmail ? 'email' : 'tel'}
          value={address}
          onChange={(event) => setAddress(event.target.value)}
          error={issueOf(send.error, 'recipientPhone') ?? issueOf(send.error, 'recipientEmail')}
        />
      </FormDialog>
    </>
  );
}
