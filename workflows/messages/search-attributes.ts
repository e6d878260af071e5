import { defineSearchAttributeKey, TypedSearchAttributes } from '@temporalio/common';

/** Few, since a SQL visibility store has few columns for them; ids only. */
export const WORKSPACE_ID = defineSearchAttributeKey('WorkspaceId', 'KEYWORD');
export const LINE_ID = defineSearchAttributeKey('LineId', 'KEYWORD');
export const KIND = defineSearchAttributeKey('Kind', 'KEYWORD');

export function searchAttributes({
  kind,
  workspaceId,
  lineId,
}: {
  kind: string;
  workspaceId: string;
  lineId?: string;
}) {
  return new TypedSearchAttributes([
    { key: KIND, value: kind },
    { key: WORKSPACE_ID, value: workspaceId },
    ...(lineId === undefined ? [] : [{ key: LINE_ID, value: lineId }]),
  ]);
}
