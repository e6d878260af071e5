import { useLingui } from '@lingui/react/macro';
import { ExternalLink } from 'lucide-react';
import { useIdentity } from '#console/api/workspace.ts';

/** For people who operate the installation: the page of a workflow in the Temporal UI. Nothing for others. @param id of the workflow. */
export function WorkflowLink({ id }: { id: string }) {
  const { t } = useLingui();
  const base = useIdentity().operations?.workflowsUrl;
  if (!base) return null;
  return (
    <a
      href={`${base}${encodeURIComponent(id)}`}
      target="_blank"
      rel="noreferrer"
      title={id}
      className="inline-flex items-center gap-1 text-xs text-muted hover:underline"
    >
      <ExternalLink className="size-3.5" aria-hidden="true" /> {t`Workflow in Temporal`}
    </a>
  );
}
