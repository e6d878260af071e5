import { Trans, useLingui } from '@lingui/react/macro';
import { useState } from 'react';
import { useWrite } from '#console/api/queries.ts';
import { ConfirmDialog } from '#console/components/confirm.tsx';
import { issueOf, TextAreaField } from '#console/components/field.tsx';
import { FormDialog } from '#console/components/form-dialog.tsx';
import { toast, toastError } from '#console/components/toast.tsx';
import { REFRESH } from './conversations.ts';

/** What the menu of a message asks before it acts. */
export default function MessageDialogs({
  asks,
  messageId,
  message,
  close,
}: {
  asks: 'edit' | 'unsend' | null;
  messageId: string;
  message: string;
  close: () => void;
}) {
  return (
    <>
      {asks === 'edit' && <EditMessage messageId={messageId} message={message} close={close} />}
      <TakeBack messageId={messageId} open={asks === 'unsend'} close={close} />
    </>
  );
}

function EditMessage({
  messageId,
  message,
  close,
}: {
  messageId: string;
  message: string;
  close: () => void;
}) {
  const { t } = useLingui();
  const [text, setText] = useState(message);
  const edit = useWrite('PATCH /api/messages/{id}', { refresh: REFRESH });
  const params = { id: messageId };
  return (
    <FormDialog
      open
      onClose={close}
      title={t`Edit the message`}
      description={t`The contact sees that it was edited, if it was sent.`}
      submit={t`Save`}
      busy={edit.isPending}
      disabled={text.trim() === '' || text === message}
      error={edit.error}
      fields={['message']}
      onSubmit={() =>
        edit.mutate(
          { params, body: { message: text } },
          {
            onSuccess: () =>
              toast(t`The message is changed`, {
                undo: () => edit.mutate({ params, body: { message } }, { onError: toastError }),
              }),
            whileShown: close,
          },
        )
      }
    >
      <TextAreaField
        label={t`Message`}
        value={text}
        onChange={(event) => setText(event.target.value)}
        error={issueOf(edit.error, 'message')}
      />
    </FormDialog>
  );
}

function TakeBack({ messageId, open, close }: { messageId: string; open: boolean; close: () => void }) {
  const { t } = useLingui();
  const unsend = useWrite('POST /api/messages/{id}/unsend', { refresh: REFRESH });
  return (
    <ConfirmDialog
      open={open}
      close={close}
      title={t`Take back this message?`}
      confirm={t`Take it back`}
      onConfirm={() => {
        close();
        unsend.mutate(
          { params: { id: messageId } },
          { onSuccess: () => toast(t`The message is taken back`), onError: toastError },
        );
      }}
    >
      <p>
        <Trans>It disappears from the phone of the contact, who may have read it already.</Trans>
      </p>
    </ConfirmDialog>
  );
}
