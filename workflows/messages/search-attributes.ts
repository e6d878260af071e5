import { defineSearchAttributeKey, TypedSearchAttributes } from '@temporalio/common';

/** Few, since a SQL visibility store has few columns for them; ids and states only. */
export const WORKSPACE_ID = defineSearchAttributeKey('WorkspaceId', 'KEYWORD');
export const LINE_ID = defineSearchAttributeKey('LineId', 'KEYWORD');
/** What the workflow is at: `idle`, `waiting`, `paused`, or the status of its subject. */
export const STATE = defineSearchAttributeKey('State', 'KEYWORD');

/** What a start is tried with, in this order: a namespace may not have every search attribute, or none of them. */
export function startAttributes({
  state,
  workspaceId,
  lineId,
}: {
  state: string;
  workspaceId: string;
  lineId?: string;
}): TypedSearchAttributes[] {
  const ids = [
    { key: WORKSPACE_ID, value: workspaceId },
    ...(lineId === undefined ? [] : [{ key: LINE_ID, value: lineId }]),
  ];
  return [[...ids, { key: STATE, value: state }], ids, []].map((pairs) => new TypedSearchAttributes(pairs));
}
