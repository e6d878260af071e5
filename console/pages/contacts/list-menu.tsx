import { Plural, Trans, useLingui } from '@lingui/react/macro';
import { Download, Ellipsis, Pencil, Trash2 } from 'lucide-react';
import { useState } from 'react';
import { addressOf } from '#console/api/client.ts';
import { useWrite } from '#console/api/queries.ts';
import { Button, IconButton } from '#console/components/button.tsx';
import { Dialog } from '#console/components/dialog.tsx';
import { Menu } from '#console/components/menu.tsx';
import { toast, toastError } from '#console/components/toast.tsx';
import { download } from '#console/lib/download.ts';
import { type LeadList, LEADS } from './lead.ts';
import { ListForm } from './list-form.tsx';

/** What can be done with a list. */
export function ListMenu({ list, onDeleted }: { list: LeadList; onDeleted: () => void }) {
  const { t } = useLingui();
  const [dialog, setDialog] = useState<'edit' | 'delete' | null>(null);
  const remove = useWrite('DELETE /api/lists/{id}', { refresh: LEADS });
  const close = (): void => setDialog(null);
  const { name, leadCount } = list;
  const confirm = (): void =>
    remove.mutate(
      { params: { id: list._id } },
      {
        onSuccess: () => toast(t`Deleted ${name}`),
        whileShown: () => {
          close();
          onDeleted();
        },
        onError: toastError,
      },
    );
  return (
    <>
      <Menu
        trigger={
          <IconButton label={t`Actions for the list ${name}`}>
            <Ellipsis className="size-4" aria-hidden="true" />
          </IconButton>
        }
        groups={[
          {
            items: [
              {
                label: t`Edit`,
                icon: <Pencil className="size-4" aria-hidden="true" />,
                onSelect: () => setDialog('edit'),
              },
              {
                label: t`Export as CSV`,
                icon: <Download className="size-4" aria-hidden="true" />,
                onSelect: () => {
                  const address = addressOf('/api/lists/{id}/export', { id: list._id });
                  download(address, 'leads.csv').catch(toastError);
                },
              },
            ],
          },
          {
            items: [
              {
                label: t`Delete`,
                icon: <Trash2 className="size-4" aria-hidden="true" />,
                onSelect: () => setDialog('delete'),
              },
            ],
          },
        ]}
      />
      {dialog === 'edit' && <ListForm list={list} close={close} onCreated={() => undefined} />}
      <Dialog
        open={dialog === 'delete'}
        onClose={close}
        title={t`Delete the list ${name}?`}
        footer={
          <>
            <Button onClick={close}>
              <Trans>Go back</Trans>
            </Button>
            <Button kind="danger" busy={remove.isPending} onClick={confirm}>
              <Trans>Delete the list</Trans>
            </Button>
          </>
        }
      >
        <p>
          <Plural
            value={leadCount}
            one="Its lead is deleted, and their unsent messages are canceled. Leads that are also in another list are kept. A deleted list cannot be restored."
            other="Its # leads are deleted, and their unsent messages are canceled. Leads that are also in another list are kept. A deleted list cannot be restored."
          />
        </p>
      </Dialog>
    </>
  );
}
