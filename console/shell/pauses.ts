import { t } from '@lingui/core/macro';
import { Pause, Play } from 'lucide-react';
import { useRead, useWrite } from '#console/api/queries.ts';
import { toast, toastError } from '#console/components/toast.tsx';
import { lineName } from '#console/lib/line.ts';
import { matchesWords } from '#console/lib/search-form.ts';
import type { Command } from './found.ts';

const READS = [
  'GET /api/lines/by-user',
  'GET /api/lines/{id}/pace',
  'GET /api/messages/{id}/timeline',
] as const;

const MOST = 5;

/** Pauses or resumes a line, with an undo, for who types that: the name of a line finds the line. */
export function usePauses(text: string): readonly Command[] {
  const lines = useRead('GET /api/lines/by-user', {});
  const pause = useWrite('POST /api/lines/{id}/pause', { refresh: READS });
  const resume = useWrite('POST /api/lines/{id}/resume', { refresh: READS });
  const [verb = ''] = text.trim().split(/\s+/);
  if (verb === '') return [];
  const commands = (lines.data?.lines ?? []).map((line): Command => {
    const { _id: id, isPaused } = line;
    const name = lineName(line);
    const pauseIt = (onSuccess?: () => void): void =>
      pause.mutate({ params: { id }, body: {} }, { ...(onSuccess && { onSuccess }), onError: toastError });
    const resumeIt = (onSuccess?: () => void): void =>
      resume.mutate({ params: { id } }, { ...(onSuccess && { onSuccess }), onError: toastError });
    return isPaused
      ? {
          id: `pause-${id}`,
          title: t`Resume ${name}`,
          icon: Play,
          run: () => resumeIt(() => toast(t`${name} is resumed`, { undo: () => pauseIt() })),
        }
      : {
          id: `pause-${id}`,
          title: t`Pause ${name}`,
          icon: Pause,
          run: () => pauseIt(() => toast(t`${name} is paused`, { undo: () => resumeIt() })),
        };
  });
  return commands
    .filter(({ title }) => matchesWords(title.split(' ')[0] ?? '', verb) && matchesWords(title, text))
    .slice(0, MOST);
}
